"""The figures of the paper: their numbers in print, by the names that the paper's source gives them.

LaTeX numbers figures in the order of their captions. Numbers that are missing here show nothing that the lab computes:
2 is an overview of the method, 13 the extension.
"""

NUMBERS = {
    "centralised": 1,
    "fix_rep": 3,
    "varied_rep": 4,
    "rep_loop": 5,
    "SURL_conv": 6,
    "SURL_attack": 7,
    "attack_percent": 8,
    "num_clients": 9,
    "loop_attack": 10,
    "hyper": 11,
    "comparision": 12,
    "real_user": 14,
    "CIFAR_attack": 15,
    "convergence_100": 16,
    "attack_100": 17,
}


def printed(*figures: str) -> str:
    """Return figures with their numbers in print and their names; a part of a figure may follow its name.

    >>> printed("SURL_conv"), printed("fix_rep a", "varied_rep a")
    ('Fig. 6 (SURL_conv)', 'Fig. 3a and 4a (fix_rep, varied_rep)')
    """
    named = [figure.partition(" ") for figure in figures]
    numbers = " and ".join(f"{NUMBERS[name]}{part}" for name, _, part in named)
    return f"Fig. {numbers} ({', '.join(name for name, _, _ in named)})"
