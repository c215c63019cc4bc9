"""The half of a site's round that sees records, and how code that a study carries is run apart from all a site keeps.

training                    what a site's training is, and training with a model of ours, in the agent's own process
carried                     training with a model that the study brings: every answer is checked before it is used
starting, code_review       whether such code runs at all; what its owner reads before
process                     the agent's end of the pipe to the trainer's process
messages, questions         what goes through it
worker, served              the trainer's process: confined first, then it reads rows and code from the pipe
confinement                 what is asked of the kernel (landlock, seccomp, limits), and what of it holds
"""
