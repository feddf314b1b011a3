"""python -m benchmarks.accuracy"""

from benchmarks.accuracy.run import main

main()
