# rnnlogic for the CPU: serves a run folder that is mounted at /run-folder.
#   docker build --build-arg TORCH_INDEX=ADDRESS -t rnnlogic .
#   docker run --rm -p 127.0.0.1:8000:8000 -v "$PWD/runs/umls:/run-folder:ro" rnnlogic
# ADDRESS is the index of CPU builds that pytorch.org names; without it, torch brings the CUDA libraries along.
# The port above is published to this machine only. To open it to others, demand a token:
#   docker run --rm -p 8000:8000 -e RNNLOGIC_TOKEN -v ... rnnlogic /run-folder --host 0.0.0.0
FROM python:3.11-slim AS build

ARG TORCH_INDEX=
WORKDIR /source
COPY constraints.txt ./
# torch goes first and alone, so that later ranges find it.
RUN python -m venv /opt/rnnlogic \
    && /opt/rnnlogic/bin/pip install --no-cache-dir -c constraints.txt \
        ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} torch
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN /opt/rnnlogic/bin/pip install --no-cache-dir -c constraints.txt '.[serve,mcp,rdf]'

FROM python:3.11-slim

# Compiled kernels are cached beside the user's home, as the package itself is not writable.
RUN useradd --create-home --uid 10001 rnnlogic
ENV PATH=/opt/rnnlogic/bin:$PATH \
    NUMBA_CACHE_DIR=/home/rnnlogic/.cache/numba \
    PYTHONUNBUFFERED=1
COPY --from=build /opt/rnnlogic /opt/rnnlogic
USER rnnlogic
WORKDIR /home/rnnlogic
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["rnnlogic", "serve"]
CMD ["/run-folder", "--host", "0.0.0.0", "--port", "8000", "--public"]
