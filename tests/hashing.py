"""Production's way of hashing passwords at the least cost: tests of guessing and signing in hash hundreds of them."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class QuickHasher(Argon2PasswordHasher):
    """64 KiB once, by one thread."""

    time_cost = 1
    memory_cost = 64
    parallelism = 1
