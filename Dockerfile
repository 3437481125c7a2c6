# Builds the image of the gateway. docs/deploy.md shows how to use it.
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build

FROM node:24-bookworm-slim
# The folder of "npm install -g": the packages of channels can be installed beside it.
WORKDIR /usr/local/lib/node_modules/svc-gateway
COPY package.json package-lock.json .npmrc LICENSE ./
RUN npm ci --omit=dev && npm cache clean --force
COPY --from=build /build/dist ./dist
RUN chmod +x dist/main.js && ln -s /usr/local/lib/node_modules/svc-gateway/dist/main.js /usr/local/bin/svc-gateway
# Packages of the channels and presets that you use, separated by spaces, such as "grammy@1.46.0".
ARG CHANNEL_PACKAGES=""
RUN if [ -n "$CHANNEL_PACKAGES" ]; then npm install -g $CHANNEL_PACKAGES; fi
RUN mkdir /data && chown node:node /data

USER node
WORKDIR /data
ENV NODE_ENV=production SVC_GATEWAY_CONFIG=/data/gateway.json5
VOLUME /data
EXPOSE 18789
# The gateway writes the port on which it listens beside its store.
HEALTHCHECK CMD node -e "const { basename, dirname, join } = require('path'); const file = process.env.SVC_GATEWAY_CONFIG; let port = 18789; try { port = JSON.parse(require('fs').readFileSync(join(dirname(file), 'state', basename(file) + '.listening'))).port } catch {}; fetch('http://127.0.0.1:' + port + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"
CMD ["svc-gateway"]
