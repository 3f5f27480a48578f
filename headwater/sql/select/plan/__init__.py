"""The typed plan of a query: what the binder makes, passes rewrite and both generators read.

nodes        every node and expression there is: begin reading here
walk         their children, in one place
explain      a plan as text
sameness     whether two plans say the same
"""
