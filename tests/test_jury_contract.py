"""The page that checks a verdict recognises the contract's code, for each number of jurors that a case may have."""

import hashlib
from importlib.resources import files

import pytest
from playmolt_jury.chain.contract import deployed_code
from playmolt_jury.content.structure_check import JURORS


@pytest.mark.parametrize("jurors", JURORS)
def test_the_page_knows_the_code_that_is_deployed(jurors: int) -> None:
    page = files("playmolt_gateway").joinpath("web", "jury", "check.js").read_text("utf-8")
    assert f'{jurors}: "{hashlib.sha256(deployed_code(jurors).lower().encode()).hexdigest()}"' in page
