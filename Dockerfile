# Two stages: the image contains only production dependencies and compiled code.
# `tools/pin-images.sh` adds the digest of a registry to the tag; --build-arg can set a mirror or a digest.
ARG NODE_IMAGE=node:24-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY libs/distribute-lock/package.json libs/distribute-lock/
COPY libs/cli/package.json libs/cli/
COPY apps/demo/package.json apps/demo/
# No package needs an install script.
RUN npm ci --ignore-scripts
COPY nest-cli.json tsconfig.json ./
COPY tools tools
COPY libs libs
COPY apps apps
RUN npm run build && npm prune --omit=dev && rm -rf libs/distribute-lock/dist/.tsc

FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/libs/distribute-lock/package.json libs/distribute-lock/
COPY --from=build /app/libs/distribute-lock/dist libs/distribute-lock/dist
COPY --from=build /app/apps/demo/package.json apps/demo/
COPY --from=build /app/apps/demo/dist apps/demo/dist
USER node
EXPOSE 3000
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "apps/demo/dist/main.js"]
