// Tests the command `import curl`: what it writes works as it stands, and holds no credentials.
import { execFile, execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import JSON5 from 'json5'
import { describe, expect, it } from 'vitest'
import { splitCommands } from '../../core/kit/curl/shell-words.ts'
import { type Document, temporaryFolder, writeConfig } from '../helpers.ts'
import { developmentPackages, installPackage } from '../install-package.ts'
import { share } from '../share.ts'
import { run } from './command-line.ts'
import { runHere } from './in-process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Each credential is recognized by the text "hidden". */
const commands = {
  orders: String.raw`
    # From the documentation of a shop.
    $ TOKEN=x curl -sSL -X POST "https://example.com/hooks/orders?token=hidden-in-the-query" \
      -H 'X-Shop-Signature: sha256=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd' \
      -H "X-Shop-Event: order.created" -H 'X-Shop-Delivery: 72d3162e' \
      -H "Authorization: Bearer hidden-in-a-header" --cookie 'session=hidden-in-a-cookie' \
      --data-raw $'{"token":"hidden-in-a-field","note":"It\'s hidden-in-a-header or sk_live_hidden0123456789",
        "order":{"number":"A-1","total":59.9,"items":[{"name":"Tea \u2615"}]}}' | jq .`,
  slack: String.raw`curl http://x.example --data-urlencode 'payload={"type":"block_actions","user":{"name":"Ada"}}' \
      -d api_key=hidden-in-a-form -d "text=Hello%20there" -u 'ada:hidden-password'`,
  upload: `curl -F 'subject=A scan' -F 'from=Ada <ada@example.com>' -F 'scan=@scan.pdf;type=application/pdf' x`,
  charges: `curl --json '{"type":"charge.failed","data":{"object":{"amount":2099}}}' -H 'Stripe-Signature: t=1,v1=a' x`,
}

const shared = share(async () => {
  const dir = temporaryFolder()
  installPackage(dir, { others: developmentPackages })
  const entries = Object.entries(commands)
  const done = await Promise.all(
    entries.map(([name, command]) => run(dir, ['import', 'curl', '--json', '--name', name], { input: command })),
  )
  const results = done.map(({ stdout, stderr }) => JSON.parse(stdout || JSON.stringify({ stderr })))
  return { dir, results: Object.fromEntries(entries.map(([name], index) => [name, results[index]])) }
})

const read = (name: string) => readFileSync(join(shared().dir, name), 'utf8')

describe('svc-gateway import curl', () => {
  it('proposes mappings', () => {
    const { orders, slack, upload, charges } = shared().results
    expect(orders.mapping).toEqual({
      match: { path: 'orders' },
      name: 'Orders',
      auth: { scheme: 'hmac', header: 'x-shop-signature', prefix: 'sha256=', secret: '${ORDERS_SECRET}' },
      idempotencyKey: '{{ headers.x-shop-delivery }}',
      messageTemplate: [
        'Event: {{ headers.x-shop-event }}',
        'Order number: {{ order.number }}',
        'Order total: {{ order.total }}',
        'Items name: {{ order.items[0].name }}',
      ].join('\n'),
    })
    expect(slack.mapping).toMatchObject({
      auth: { scheme: 'token', header: 'authorization', secret: '${SLACK_TOKEN}' },
      jsonFields: ['payload'],
      messageTemplate:
        'Payload type: {{ payload.payload.type }}\nUser name: {{ payload.payload.user.name }}\nText: {{ text }}',
    })
    expect(upload.message).toBe(
      'Subject: A scan\nFrom: Ada <ada@example.com>\nScan name: scan.pdf\nScan type: application/pdf',
    )
    expect(charges.mapping.auth).toEqual({ scheme: 'stripe', secret: '${CHARGES_SECRET}' })
    expect(charges.notes).toContainEqual(expect.stringContaining('The preset "stripe" uses this scheme'))
  })

  it('copies no credentials, and says so', () => {
    const { dir, results } = shared()
    const files = readdirSync(dir).filter((file) => /\.(?:json|ts)$/.test(file))
    expect(files).toHaveLength(8)
    expect(files.filter((file) => read(file).includes('hidden'))).toEqual([])
    expect(JSON.stringify(results)).not.toContain('hidden')
    expect(JSON.parse(read('orders.payload.json'))).toMatchObject({
      token: '${ORDERS_TOKEN}',
      note: "It's ${ORDERS_SECRET} or ${ORDERS_SECRET}",
    })
    expect(results['orders'].notes.at(-1)).toBe(
      'These credentials of the command were not copied: x-shop-signature, authorization, cookie, the field token, ' +
        'the field note.',
    )
  })

  it('writes tests that pass', async () => {
    const { PATH, NODE_COMPILE_CACHE } = process.env
    const env = { PATH, NODE_COMPILE_CACHE, HOME: '/nonexistent', NO_COLOR: '1' }
    const vitest = join(root, 'node_modules', '.bin', 'vitest')
    // One process that loads the gateway once, for speed.
    const options = ['--no-isolate', '--maxWorkers=1']
    const { stdout } = await promisify(execFile)(vitest, ['run', ...options], { cwd: shared().dir, env })
    expect(stdout).toMatch(/Test Files +4 passed \(4\)/)
  }, 60_000)

  it('prints mappings that the gateway accepts', async () => {
    const { dir, results } = shared()
    const printed = await run(temporaryFolder(), ['import', 'curl'], { input: commands.slack })
    expect(printed).toMatchObject({ code: 0, stderr: '' })
    const [, mapping = ''] = /^( {2}\{\n[^]*?\n {2}\}),$/m.exec(printed.stdout) ?? []
    const mappings = [JSON5.parse<Document>(mapping), ...Object.values(results).map((result) => result.mapping)]
    const file = writeConfig(dir, { hooks: { mappings } })
    const names = ['WEBHOOK_TOKEN', 'ORDERS_SECRET', 'SLACK_TOKEN', 'CHARGES_SECRET']
    const env = Object.fromEntries(names.map((name) => [name, `${name} ${'x'.repeat(32)}`]))
    expect(await runHere(dir, ['check', '--config', file], { env })).toMatchObject({ code: 0, stdout: 'ok\n' })
  })

  it.each([
    ['wget https://example.com', 'There is no curl command; give one'],
    ['curl https://example.com', 'The command sends no body; add the payload with -d.'],
    [`curl -d '{"a":1`, 'The command has a quotation mark in line 1 that is not closed; close it.'],
    ['curl -d "$(cat key)" x', 'The command contains a command substitution, which is not run; replace it'],
    [`curl -d '{"a":}' x`, 'A hook would reject the body of the command: '],
    ['curl --frobnicate -d a=1 x', 'The option --frobnicate of curl is not known here; remove it'],
    ['curl x -d', 'The option -d of curl has no value; complete the command.'],
    ['curl -d @/etc/hostname x', 'The file "/etc/hostname" of the command cannot be used: '],
    ['curl -d @../secret x', 'The file "../secret" of the command cannot be used: '],
    ['curl -G -d a=1 x', 'The command sends its data in the address (-G); a hook reads only the body.'],
  ])('rejects %j', async (input, message) => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, 'example.sh'), input)
    const ended = await runHere(dir, ['import', 'curl', 'example.sh'])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(new RegExp(`^${RegExp.escape(message)}.*\\n$`))
    expect(readdirSync(dir).filter((file) => file.startsWith('webhook'))).toEqual([])
  })

  it('reads files of the folder, and overwrites nothing', async () => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, 'body.json'), '{"title":"From a file"}')
    writeFileSync(join(dir, 'example.sh'), 'curl https://example.com/alerts --data-binary @body.json')
    const create = () => runHere(dir, ['import', 'curl', 'example.sh', '--dir', 'samples'])
    expect(await create()).toMatchObject({ code: 0, stdout: expect.stringContaining("path: 'alerts'") })
    expect(JSON.parse(readFileSync(join(dir, 'samples', 'alerts.payload.json'), 'utf8'))).toEqual({
      title: 'From a file',
    })
    expect(await create()).toMatchObject({ code: 1, stderr: expect.stringContaining('already exists; choose another') })
  })
})

describe('splitCommands', () => {
  const words = [
    String.raw`a 'b c' "d \"e\" \$f \\ \n" g\ h`,
    String.raw`$'it\'s \x41\u00e9\101\t\n' x'y'"z"`,
    `'' "" a\\\nb "c\\\nd"`,
    String.raw`a#b '#' # a comment "with a quotation mark`,
    `'line one\nline two' {"a":[1]} 'é ☕'`,
    String.raw`--data='{"a": "b"}' -H'X: y' a=b\"c`,
  ]

  it.each(words)('splits as bash does: %j', (text) => {
    const printed = execFileSync('bash', ['--norc', '-c', `printf '%s\\0' ${text}`], {
      env: { LC_ALL: 'C.UTF-8' },
    }).toString()
    expect(splitCommands(text)).toEqual([printed.split('\0').slice(0, -1)])
  })

  it('ends a command at an operator and at the end of a line', () => {
    expect(splitCommands('a b|c;d\n\ne && f > g')).toEqual([['a', 'b'], ['c'], ['d'], ['e'], ['f'], ['g']])
  })
})
