// The web tool: how it converts pages, and that no URL, redirect or DNS answer leads it into a private network.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAddresses, PrivateAddressError } from '../../plugins/tools/web/addresses.ts'
import { download } from '../../plugins/tools/web/download.ts'
import { readHtml } from '../../core/kit/read-html.ts'
import { share } from '../share.ts'
import { refused, startTools } from './calls.ts'

type Serve = (request: IncomingMessage, response: ServerResponse) => void

async function serve(handle: Serve): Promise<{ host: string; url: string; requests: string[] }> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    handle(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { host, url: `http://${host}/`, requests }
}

/** Without settings, and with loopback allowed. */
const strict = share(startTools)
const loopback = share(() => startTools({ tools: { web: { allowHosts: ['127.0.0.1'] } } }))

const notPublic = refused('url has an address that is not public; add its host to tools.web.allowHosts to allow it.')

const page = `<!doctype html><html><head><title>A &amp; B</title><style>p { color: red }</style></head><body>
<nav>Menu</nav>
  <h1>Title</h1><p>One <b>bold</b> word&hellip;</p><script>if (a < b) document.write("<p>no</p>")</script>
  <ul><li>first</li><li><a href="/next?a=1&amp;b=2">second</a></li></ul><!-- <p>hidden</p> --> 1 < 2</body></html>`

describe('a page', () => {
  it('is converted to text with links', async () => {
    const { url } = await serve((_request, response) =>
      response.setHeader('content-type', 'text/html; charset=utf-8').end(page),
    )
    const { result } = loopback()
    expect(await result('web_fetch', { url })).toEqual({
      url,
      status: 200,
      contentType: 'text/html; charset=utf-8',
      title: 'A & B',
      text: `# Title\n\nOne bold word…\n\n- first\n\n- second (${url}next?a=1&b=2)\n\n1 < 2`,
    })
  })

  it('is fetched by an agent in its turn', async () => {
    const { url } = await serve((_request, response) =>
      response.setHeader('content-type', 'text/plain').end('plain words'),
    )
    const { askAgent } = loopback()
    expect(await askAgent(`/web_fetch {"url":"${url}"}`)).toContain('plain words')
  })

  it('is decoded by its charset, and reported if it is not text', async () => {
    const bodies: Record<string, [type: string, body: Buffer]> = {
      '/latin': ['text/plain; charset=iso-8859-1', Buffer.from([0xe4])],
      '/meta': ['text/html', Buffer.concat([Buffer.from('<meta charset=windows-1252><p>'), Buffer.from([0x80])])],
      '/image': ['image/png', Buffer.from('abc')],
      '/json': ['application/json', Buffer.from('{"a":1}')],
    }
    const { url } = await serve((request, response) => {
      const [type, body] = bodies[request.url ?? ''] ?? ['', Buffer.alloc(0)]
      response.setHeader('content-type', type).end(body)
    })
    const { result } = loopback()
    expect((await result('web_fetch', { url: `${url}latin` })).text).toBe('ä')
    expect((await result('web_fetch', { url: `${url}meta` })).text).toBe('€')
    expect((await result('web_fetch', { url: `${url}json` })).text).toBe('{"a":1}')
    expect(await result('web_fetch', { url: `${url}image` })).toMatchObject({ binary: true, bytes: 3 })
  })

  it('is limited in size and time, even if it arrives slowly', async () => {
    const { host, url } = await serve((request, response) => {
      if (request.url === '/endless') {
        const more = () => void (response.destroyed || response.write('x'.repeat(65_536), more))
        more()
      } else if (request.url === '/drip') response.write('x')
    })
    const { result, call } = await startTools({
      tools: { web: { allowHosts: [host], maxBytes: 100_000, timeoutSeconds: 0.5 } },
    })
    expect(await result('web_fetch', { url: `${url}endless`, maxCharacters: 10 })).toMatchObject({
      text: 'x'.repeat(10),
      cut: true,
    })
    for (const path of ['drip', 'silence'])
      expect(await call('web_fetch', { url: url + path })).toMatchObject(
        refused('url did not answer within 0.5 seconds.'),
      )
  })

  it.each([
    ['ftp://example.com/', 'url must begin with http:// or https://.'],
    ['file:///etc/passwd', 'url must begin with http:// or https://.'],
    ['example.com', 'url must be a full URL, such as "https://example.com/page".'],
    ['http://ann:secret@example.com/', 'url must not contain a user or a password.'],
  ])('is not %s', async (url, sentence) => {
    const { call } = strict()
    expect(await call('web_fetch', { url })).toMatchObject(refused(sentence))
  })
})

describe('a private address', () => {
  const spellings = (port: string) =>
    [
      '127.0.0.1',
      'localhost',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '127.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '0.0.0.0',
      '[::]',
      '127.0.0.1.',
    ].map((host) => `http://${host}:${port}/`)

  it('is not reached in any notation', async () => {
    const { host, requests } = await serve((_request, response) => response.end('inside'))
    const { call } = strict()
    for (const url of spellings(host.split(':')[1]!))
      expect({ url, ...(await call('web_fetch', { url })) }).toMatchObject({ url, status: 400 })
    for (const url of spellings(host.split(':')[1]!).slice(0, 9))
      expect({ url, ...(await call('web_fetch', { url })) }).toMatchObject({ url, ...notPublic })
    expect(requests).toEqual([])
  })

  it('is not reached by a redirect, and neither is another protocol', async () => {
    const inside = await serve((_request, response) => response.end('inside'))
    const targets: Record<string, string> = {
      '/inside': inside.url,
      '/file': 'file:///etc/passwd',
      '/meta': 'http://169.254.169.254/latest/',
      '/circle': '/circle',
    }
    const outside = await serve((request, response) =>
      response.writeHead(302, { location: targets[request.url ?? ''] }).end(),
    )
    const { call } = await startTools({ tools: { web: { allowHosts: [outside.host] } } })
    for (const path of ['inside', 'meta']) {
      const crossing =
        'url redirects between a host of tools.web.allowHosts and another host; fetch that page by its own url.'
      expect(await call('web_fetch', { url: outside.url + path })).toMatchObject(refused(crossing))
    }
    expect(await call('web_fetch', { url: `${outside.url}file` })).toMatchObject(
      refused('url must begin with http:// or https://, also after redirects.'),
    )
    expect(await call('web_fetch', { url: `${outside.url}circle` })).toMatchObject(
      refused('url redirects more than 5 times.'),
    )
    expect(inside.requests).toEqual([])
    expect(await loopback().result('web_fetch', { url: `${outside.url}inside` })).toMatchObject({
      url: inside.url,
      text: 'inside',
    })
  })

  it('is not reached by DNS rebinding: each connection resolves once and uses that address', async () => {
    const { host, requests } = await serve((_request, response) => response.end('inside'))
    const answers = [['93.184.216.34', '127.0.0.1'], ['127.0.0.1'], ['::ffff:127.0.0.1'], ['fe80::1%lo'], []]
    let asked = 0
    const lookup = ((_host: string, _options: object, done: (error: null, found: object[]) => void) => {
      const found = answers[asked++]!.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
      done(null, found)
    }) as unknown as Parameters<typeof createAddresses>[0]
    const limits = {
      maxBytes: 10,
      maxRedirects: 0,
      signal: AbortSignal.timeout(5000),
      addresses: createAddresses(lookup),
      allowHosts: [],
      traceHeaders: () => undefined,
    }
    for (const _ of answers)
      await expect(download(`http://rebind.test:${host.split(':')[1]}/`, limits)).rejects.toThrow('not public')
    expect([asked, requests]).toEqual([answers.length, []])
  })

  it.each([
    ['0.1.2.3', false],
    ['10.0.0.1', false],
    ['100.64.0.1', false],
    ['127.9.9.9', false],
    ['169.254.169.254', false],
    ['168.63.129.16', false],
    ['168.63.129.15', true],
    ['168.63.129.17', true],
    ['172.31.255.255', false],
    ['192.168.1.1', false],
    ['198.19.0.1', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    ['::', false],
    ['::1', false],
    ['::ffff:8.8.8.8', false],
    ['::8.8.8.8', false],
    ['64:ff9b::7f00:1', false],
    ['fc00::1', false],
    ['fd12::1', false],
    ['fe80::1', false],
    ['ff02::1', false],
    ['2001::1', false],
    ['2001:db8::1', false],
    ['2002:7f00:1::', false],
    ['no address', false],
    ['8.8.8.8', true],
    ['172.32.0.1', true],
    ['100.128.0.1', true],
    ['2606:4700::1111', true],
    ['2a00:1450::1', true],
  ] as const)('%s is public: %s', (address, isPublic) => {
    expect(createAddresses().isPublic(address)).toBe(isPublic)
  })

  it('makes the lookup fail even if only one of several is private', async () => {
    const lookup = ((_host: string, _options: object, done: (error: null, found: object[]) => void) =>
      done(null, [
        { address: '8.8.8.8', family: 4 },
        { address: '10.0.0.1', family: 4 },
      ])) as unknown as Parameters<typeof createAddresses>[0]
    const error = await new Promise((resolve) => createAddresses(lookup).lookup('both.test', { all: true }, resolve))
    expect(error).toBeInstanceOf(PrivateAddressError)
  })
})

describe('hostile markup', () => {
  it.each([
    '<',
    '<a',
    '<a href="',
    '<!--',
    '<svg>',
    '<nav><svg>',
    '<script>',
    '&#',
    '&amp',
    '<title',
    '<p ',
    '</nav>',
    '<a href=x>',
  ])('is read in linear time: %j', (markup) => {
    const html = markup.repeat(Math.floor(1_000_000 / markup.length))
    expect(readHtml(html, 'http://example.com/').text.length).toBeLessThan(3_000_000 * 8)
  })

  it('creates links only for URLs of pages', () => {
    const html =
      '<a href="javascript:alert(1)">a</a> <a href="data:text/html,x">b</a> <a href=#c>c</a> ' +
      '<a href=" https://example.com ">d</a>'
    expect(readHtml(html, 'http://base.test/').text).toBe('a b c d (https://example.com/)')
  })

  it('may contain valid and invalid entities', () => {
    expect(readHtml('&lt;&#65;&#x42;&#0;&#xD800;&#1114112;&nope;&constructor;&nbsp;x', 'http://base.test/').text).toBe(
      '<AB\uFFFD\uFFFD\uFFFD&nope;&constructor; x',
    )
  })
})
