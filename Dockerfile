# rnnlogic for the CPU: serves a run folder that is mounted at /run-folder.
#   docker build -t rnnlogic .
#   docker run --rm -p 127.0.0.1:8000:8000 -v "$PWD/runs/umls:/run-folder:ro" rnnlogic
# The port is published to this machine only. To open it to others, give a token instead of --public:
#   docker run --rm -p 8000:8000 -v ... rnnlogic /run-folder --host 0.0.0.0 --port 8000 --token SECRET
FROM python:3.11-slim AS build

WORKDIR /source
COPY constraints.txt ./
# torch goes first and alone, as the CPU build of PyTorch's own index; the default one brings CUDA.
RUN python -m venv /opt/rnnlogic \
    && /opt/rnnlogic/bin/pip install --no-cache-dir -c constraints.txt \
        --extra-index-url https://download.pytorch.org/whl/cpu torch
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
