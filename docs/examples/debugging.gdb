set pagination off
break debugging.cpp:28 if loss == 1
run
backtrace 1
print loss
thread apply all backtrace
