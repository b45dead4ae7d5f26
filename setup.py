"""The wheel's URLs, which the host of the repository knows; the rest is static."""

import os

from setuptools import setup

SERVER, REPOSITORY = os.getenv("GITHUB_SERVER_URL"), os.getenv("GITHUB_REPOSITORY")
ADDRESS = f"{SERVER}/{REPOSITORY}"

setup(
    project_urls={
        "Source": ADDRESS,
        "Issues": f"{ADDRESS}/issues",
        "Changelog": f"{ADDRESS}/blob/HEAD/CHANGELOG.md",
    }
    if REPOSITORY
    else {}
)
