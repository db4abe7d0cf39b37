"""Datasets: their list, and their files."""

import asyncio
from pathlib import Path

from playmolt_schemas.codes import Code
from playmolt_schemas.routes.pages import DATASET_FILE, DATASET_GAMES, PAGE_DATASETS
from playmolt_schemas.routes.route import PARQUET
from starlette.responses import FileResponse, Response

from playmolt_gateway.http.compression import compressed
from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.http.responses import FILE_POLICY
from playmolt_gateway.pages.datasets import CROISSANT, METADATA, datasets_html, datasets_in, file_in, served_metadata
from playmolt_gateway.pages.privacy import text_page, text_response
from playmolt_gateway.pages.shell import addressed
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.pages import missing_page, page_request_of


@serves(PAGE_DATASETS)
async def page_datasets(services: Services, request: CheckedRequest) -> Reply:
    """List the datasets of this platform."""
    asked, folder = page_request_of(request), services.settings.datasets
    try:
        found = await asyncio.to_thread(datasets_in, Path(folder)) if folder else None
    except OSError:
        found = None
    if found is None:
        return missing_page(services, asked)
    address = f"{services.address.gateway(request.scope)}{PAGE_DATASETS.path}"
    page = text_page("datasets", PAGE_DATASETS.path, asked.language, datasets_html(found, asked.language))
    return text_response(*compressed(addressed(page, address).encode(), asked.encodings))


@serves(DATASET_FILE)
async def dataset_file(services: Services, request: CheckedRequest) -> Reply:
    return await _file(services, request, request.params["file"])


@serves(DATASET_GAMES)
async def dataset_games(services: Services, request: CheckedRequest) -> Reply:
    return await _file(services, request, f"{request.params['folder']}/{request.params['file']}")


async def _file(services: Services, request: CheckedRequest, path: str) -> Reply:
    """Send a file that a dataset's manifest lists, or its metadata."""
    folder, dataset = services.settings.datasets, request.params["dataset"]
    file = await asyncio.to_thread(file_in, Path(folder), dataset, path) if folder else None
    if file is None:
        return HttpProblem(Code.NOT_FOUND, "This file does not exist. See /datasets/.")
    headers = {
        "content-security-policy": FILE_POLICY, "x-content-type-options": "nosniff", "cache-control": "no-cache",
        "content-disposition": f'attachment; filename="{dataset}-{path.replace("/", "-")}"',
    }  # fmt: skip
    if path == CROISSANT:
        address = f"{services.address.gateway(request.scope)}{PAGE_DATASETS.path}{dataset}"
        body = served_metadata(await asyncio.to_thread(file.read_bytes), address)
        return Response(body, media_type=METADATA[path], headers=headers)
    return FileResponse(file, media_type=METADATA.get(path, PARQUET), headers=headers)
