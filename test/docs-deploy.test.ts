// Starts gateways as the files for several gateways in docs/deploy.md do, and checks that these files fit together.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, inject, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { examples } from './docs-examples.ts'
import { ask, type GatewayProcess, spawnGateway, temporaryFolder } from './helpers.ts'
import { createDatabase } from './postgres.ts'
import { closeAtEnd } from './share.ts'

const block = (part: string): string =>
  examples.find(({ page, text }) => page === 'docs/deploy.md' && text.includes(part))!.text

const dockerfile = readFileSync(join(import.meta.dirname, '..', 'Dockerfile'), 'utf8')
const [, port] = /^EXPOSE (\d+)$/m.exec(dockerfile) ?? []
/** `gateway.drainSeconds`, which the configurations leave as it is, and what a stop may take in addition. */
const stopSeconds = 10 + 5

interface Setup {
  text: string
  env: Record<string, string>
}

/** Starts gateways with this configuration, but with a database, a folder and an address of the test. */
async function startGateways(count: number, { text, env }: Setup): Promise<GatewayProcess[]> {
  const database = await createDatabase(inject('postgresUrl'))
  closeAtEnd(database.remove)
  const url = new URL(database.url)
  const password = url.password
  url.password = ''
  const dir = temporaryFolder()
  const changed = text
    .replace(/postgres:\/\/gateway@[\w.]+\/gateway(\?sslmode=verify-full)?/, url.href)
    .replace("bind: '0.0.0.0'", "bind: '127.0.0.1'")
    .replace("'/data/", `'${dir}/`)
  expect(changed).toContain(`workspace: '${dir}/workspaces'`)
  return await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      mkdirSync(join(dir, String(index)))
      const file = join(dir, String(index), 'gateway.json5')
      // Everybody may read it, as in the container.
      writeFileSync(file, changed, { mode: 0o644 })
      const own = { ...env, PGPASSWORD: password, SVC_GATEWAY_CONFIG: file }
      const gateway = await spawnGateway(file, { args: ['--port', '0'], env: own })
      closeAtEnd(() => gateway.end('SIGKILL'))
      return gateway
    }),
  )
}

const statusOf = async (gateway: GatewayProcess, path: string): Promise<number> =>
  (await ask(`${gateway.url}${path}`, {})).status

const wake = (gateway: GatewayProcess, token = '') =>
  ask(`${gateway.url}/hooks/wake`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'idempotency-key': 'the same' },
    body: '{"text":"x","mode":"next-heartbeat"}',
  })

/** Warnings that are true of the server of the tests, which has fsync turned off. */
const isAboutServer = (line: string): boolean => line.includes('"settings":["fsync","full_page_writes"]')

/** The gateways accept the same request once, with the tokens of the files, and warn of nothing in the files. */
async function expectOneCluster(gateways: readonly GatewayProcess[], env: Record<string, string>): Promise<void> {
  const answers = await Promise.all(gateways.map((gateway) => wake(gateway, env['HOOK_TOKEN'])))
  expect(new Set(answers.map(({ body }) => body.eventId)).size).toBe(1)
  const headers = { authorization: `Bearer ${env['SVC_GATEWAY_TOKEN']}` }
  expect(await ask(`${gateways[0]!.url}/api/channels`, { headers })).toMatchObject({ status: 200 })
  const warnings = gateways.flatMap(({ log }) => log).filter((line) => line.includes('"level":40'))
  expect(warnings.filter((line) => !isAboutServer(line))).toEqual([])
}

interface Compose {
  services: Record<string, Service>
  volumes: Record<string, null>
  networks: { default: { ipam: { config: { subnet: string }[] } } }
}

interface Service {
  environment: Record<string, string>
  volumes: string[]
  stop_grace_period: string
}

describe('the compose file with two gateways', () => {
  function createFolder() {
    const dir = temporaryFolder()
    execFileSync('sh', ['-ec', block('mkdir -p cluster/config')], { cwd: dir, stdio: 'pipe' })
    const values = parseEnv(readFileSync(join(dir, 'cluster', '.env'), 'utf8')) as Record<string, string>
    const text = block('x-gateway:').replaceAll(/\$\{(\w+)\}/g, (_all, name: string) => values[name] ?? '(not set)')
    return { config: readFileSync(join(dir, 'cluster', 'config', 'gateway.json5'), 'utf8'), text }
  }

  it('starts gateways on one database, which its proxy can check', async () => {
    const { config, text } = createFolder()
    expect(text).not.toContain('(not set)')
    const { services } = parse(text, { merge: true }) as Compose
    const { environment: env } = services['gateway-1']!
    expect(services['database']!.environment['POSTGRES_PASSWORD']).toBe(env['PGPASSWORD'])
    const gateways = await startGateways(2, { text: config, env })
    await expectOneCluster(gateways, env)
    const [, healthPath = ''] = /health_uri (\S+)/.exec(block('health_uri')) ?? []
    expect(await statusOf(gateways[1]!, healthPath)).toBe(200)
  })

  it('has names, ports, networks and times that fit together', () => {
    const { config, text } = createFolder()
    const { services, volumes, networks } = parse(text, { merge: true }) as Compose
    const gateway = services['gateway-1']!
    const upstreams = Object.keys(services).filter((name) => name.startsWith('gateway-'))
    for (const proxy of [block('health_uri'), block('upstream gateways')])
      expect(proxy.match(/gateway-\d:\d+/g)).toEqual(upstreams.map((name) => `${name}:${port}`))
    const { hostname } = new URL(/postgres:[^']+/.exec(config)?.[0] ?? '')
    expect(Object.keys(services)).toContain(hostname)
    expect(config).toContain(`trustedProxies: ['${networks.default.ipam.config[0]?.subnet}']`)
    expect(Number.parseInt(gateway.stop_grace_period, 10)).toBeGreaterThan(stopSeconds)
    expect(gateway.volumes).toContain(`./config:${dirname(gateway.environment['SVC_GATEWAY_CONFIG']!)}:ro`)
    const named = Object.values(services)
      .flatMap((service) => service.volumes)
      .filter((volume) => !volume.startsWith('.'))
    expect(new Set(named.map((volume) => volume.split(':')[0]))).toEqual(new Set(Object.keys(volumes)))
  })
})

describe('the manifest for Kubernetes', () => {
  const parsed = parseAllDocuments(block('kind: Deployment'))
  const documents = parsed.map((document) => document.toJS())
  const find = (kind: string) => documents.find((one) => one.kind === kind)
  const pod = find('Deployment').spec.template
  const [container] = pod.spec.containers
  const probes = ['startupProbe', 'readinessProbe', 'livenessProbe'].map((name) => container[name])

  it('starts gateways on one database, and its probes succeed', async () => {
    const env = find('Secret').stringData
    const { value } = container.env.find(({ name }: { name: string }) => name === 'SVC_GATEWAY_CONFIG')
    const gateways = await startGateways(2, { text: find('ConfigMap').data[basename(value)], env })
    await expectOneCluster(gateways, env)
    const paths = probes.map(({ httpGet }) => httpGet.path as string)
    expect(await Promise.all(paths.map((path) => statusOf(gateways[0]!, path)))).toEqual([200, 200, 200])
    const [{ path }] = find('Ingress').spec.rules[0].http.paths
    expect(await ask(`${gateways[0]!.url}${path}/wake`, { method: 'POST', body: '{}' })).toMatchObject({ status: 401 })
  })

  it('has ports, labels, volumes and times that fit together', () => {
    expect(parsed.flatMap(({ errors }) => errors)).toEqual([])
    expect(documents.every(({ apiVersion, metadata }) => apiVersion && metadata.name === 'gateway')).toBe(true)
    expect(container.ports).toEqual([{ name: 'http', containerPort: Number(port) }])
    expect(probes.map(({ httpGet }) => httpGet.port)).toEqual(['http', 'http', 'http'])
    const service = find('Service').spec
    expect(service.ports[0].targetPort).toBe('http')
    expect(find('Ingress').spec.rules[0].http.paths[0].backend.service).toEqual({
      name: 'gateway',
      port: { name: service.ports[0].name },
    })
    for (const selector of [service.selector, find('PodDisruptionBudget').spec.selector.matchLabels])
      expect(pod.metadata.labels).toMatchObject(selector)
    expect(find('Deployment').spec.replicas).toBeGreaterThan(find('PodDisruptionBudget').spec.minAvailable)
    const sleep = Number(container.lifecycle.preStop.exec.command[1])
    expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThan(sleep + stopSeconds)
    const names = (list: { name: string }[]) => list.map(({ name }) => name).toSorted()
    expect(names(container.volumeMounts)).toEqual(names(pod.spec.volumes))
  })
})
