// Rendering templates, and the safety of templates against malicious payloads.
import { describe, expect, it } from 'vitest'
import { visibleHeaders } from '../../core/kit/secret-names.ts'
import {
  compilePath,
  compileTemplate,
  findTemplateProblems,
  type TemplateScope,
} from '../../core/config/template/template.ts'

const scope: TemplateScope = {
  payload: {
    a: { b: [{ c: 'deep' }, 'second'] },
    text: 'hello',
    zero: 0,
    negative: -1.5,
    yes: true,
    no: false,
    none: null,
    list: [1, 'two', null],
    path: 'of the payload',
    headers: 'of the payload',
    item: 'of the payload',
    'a key': { 'x.y': 'quoted' },
    über: 'letters',
    'x-event': 'dashed',
    2: 'numbered',
  },
  headers: { 'x-event': 'push', 'user-agent': 'curl' },
  query: { q: 'asked', many: ['a', 'b'] },
  path: 'github/push',
  now: '2030-01-31T09:00:00.000Z',
}
const render = (text: string, more: Partial<TemplateScope> = {}) => compileTemplate(text)({ ...scope, ...more })

describe('a template', () => {
  it.each([
    ['plain text', 'no braces', 'no braces'],
    ['nothing at all', '', ''],
    ['a field', '{{ payload.text }}', 'hello'],
    ['a field with the payload implied', '{{text}}', 'hello'],
    ['white space', '{{\n\ttext }}', 'hello'],
    ['a field of an element', '{{ a.b[0].c }}', 'deep'],
    ['an element', '{{ payload.a.b[1] }}', 'second'],
    ['an index after a dot', '{{ a.b.1 }}', 'second'],
    ['a quoted key', `{{ ["a key"]['x.y'] }}`, 'quoted'],
    ['a key that is a number', '{{ payload[2] }}', 'numbered'],
    ['letters of any language', '{{ über }}', 'letters'],
    ['a dash', '{{ x-event }}', 'dashed'],
    ['zero', '{{ zero }}', '0'],
    ['a fraction', '{{ negative }}', '-1.5'],
    ['booleans', '{{ yes }}/{{ no }}', 'true/false'],
    ['null, which is nothing', '[{{ none }}]', '[]'],
    ['what is missing', '[{{ missing.far[3].away }}]', '[]'],
    ['what lies behind text', '[{{ text.more }}{{ text[0] }}]', '[]'],
    ['what lies behind the end', '[{{ list[9] }}]', '[]'],
    ['a list, as compact JSON', '{{ list }}', '[1,"two",null]'],
    ['an object, as compact JSON', '{{ a }}', '{"b":[{"c":"deep"},"second"]}'],
    ['a header', '{{ headers.x-event }}', 'push'],
    ['a header in other letters', '{{ headers.X-Event }}', 'push'],
    ['the query', '{{ query.q }} {{ query.many[1] }}', 'asked b'],
    ['the path and the time', '{{ path }} {{ now }}', 'github/push 2030-01-31T09:00:00.000Z'],
    [
      'a name of the scope inside the payload',
      '{{ payload.path }} {{ payload.headers }}',
      'of the payload of the payload',
    ],
    ['item outside of forEach', '{{ item }}', 'of the payload'],
    ['several', '{{text}}{{text}}, {{ zero }}!', 'hellohello, 0!'],
    ['single braces', '{ text } {text}', '{ text } {text}'],
    ['braces that were never opened', 'a }} b', 'a }} b'],
  ])('renders %s', (_case, text, rendered) => {
    expect(render(text)).toBe(rendered)
    expect(findTemplateProblems(text)).toEqual([])
  })

  it('renders unclosed braces as text and reports them', () => {
    expect(render('{{ text }} {{ text')).toBe('hello {{ text')
    expect(findTemplateProblems('{{ text }} {{ text')).toEqual([
      { problem: expect.stringContaining('without a closing "}}"'), warning: true },
    ])
  })

  it('can use the element and its index inside forEach', () => {
    expect(render('{{ index }}: {{ item.name }} of {{ text }}', { item: { name: 'n' }, index: 0 })).toBe(
      '0: n of hello',
    )
  })

  it('accepts a list as payload', () => {
    expect(render('{{ payload[1].id }}{{ [0].id }}', { payload: [{ id: 'a' }, { id: 'b' }] })).toBe('ba')
  })
})

describe('inherited properties', () => {
  it.each([
    '__proto__',
    'constructor',
    'constructor.name',
    'constructor.prototype',
    'toString',
    'valueOf',
    'hasOwnProperty',
    'length',
    'list.length',
    'list.map',
    'list["length"]',
    'text.length',
    'a.b.constructor',
    'a.__proto__.polluted',
    'payload.__proto__',
    'headers.constructor',
    'headers.__proto__',
    'query.toString',
    'path.length',
    'now.length',
    'payload["constructor"]["name"]',
  ])('is nothing: {{ %s }}', (path) => {
    expect(render(`[{{ ${path} }}]`)).toBe('[]')
  })

  it('are not available on an element either', () => {
    expect(render('[{{ item.length }}{{ item.constructor }}]', { item: 'text', index: 0 })).toBe('[]')
  })
})

describe('code between braces', () => {
  it.each([
    '1 + 1',
    'text()',
    'constructor.constructor("return process")()',
    'process.exit(1)',
    'a[b]',
    'a[-1]',
    'a..b',
    '.a',
    'a b',
    'a.',
    '#if text',
    '`x`',
    'a = 1',
    '',
    ' ',
    'a[0]b',
    '{ text',
    'a[1e3]',
    '<%= text %>',
  ])('is an error, and renders as nothing: {{%s}}', (inner) => {
    expect(render(`[{{${inner}}}]`)).toBe('[]')
    expect(findTemplateProblems(`[{{${inner}}}]`)).toEqual([
      { problem: expect.stringContaining('it is not a path'), warning: false },
    ])
  })
})

describe('inserted values', () => {
  it.each([
    '{{ secret }}',
    '{{ payload.secret }}',
    '{{',
    '}}',
    '{{ a }}{{ b }}',
    '$&',
    '$1',
    "$'",
    '$`',
    '$$',
    '${secret}',
    '\\u007b\\u007b',
    '__proto__',
    '\u2028',
    '\0',
  ])('stays what it was: %j', (inserted) => {
    expect(render('<{{ text }}>{{ text }}', { payload: { text: inserted, secret: 'revealed' } })).toBe(
      `<${inserted}>${inserted}`,
    )
  })

  it('cannot open braces that other text closes', () => {
    const payload = { open: '{{', name: 'secret', close: '}}', secret: 'revealed' }
    expect(render('{{ open }}{{ name }}{{ close }} {{ open }} secret }}', { payload })).toBe('{{secret}} {{ secret }}')
  })

  it('cannot change a prototype', () => {
    render('{{ a }}{{ __proto__.polluted }}', {
      payload: JSON.parse('{"a":{"__proto__":{"polluted":1}},"__proto__":{"polluted":1}}'),
    })
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })
})

describe('the size of the text', () => {
  const mebibyte = 1024 * 1024

  it('may be at most 1 MiB', () => {
    expect(render('{{ text }}', { payload: { text: 'x'.repeat(mebibyte) } })).toHaveLength(mebibyte)
    expect(() => render('{{ text }}!', { payload: { text: 'x'.repeat(mebibyte) } })).toThrow('to more than 1 MiB')
    expect(() => render('{{ text }}', { payload: { text: 'ü'.repeat(mebibyte / 2 + 1) } })).toThrow(
      'to more than 1 MiB',
    )
  })

  it('is limited while it is built', () => {
    const template = '{{ text }}'.repeat(100_000)
    expect(() => render(template, { payload: { text: 'x'.repeat(200_000) } })).toThrow('to more than 1 MiB')
  })

  it('is rendered in linear time for many braces', () => {
    for (const text of [
      '{'.repeat(200_000),
      '{{'.repeat(100_000) + '}}',
      '{{ '.repeat(50_000),
      '{{[0'.repeat(50_000) + '}}'.repeat(50_000),
    ])
      expect(render(text)).toBeTypeOf('string')
  })
})

describe('a path', () => {
  it.each([
    ['payload.list', [1, 'two', null]],
    [' list ', [1, 'two', null]],
    ['a.b[0]', { c: 'deep' }],
    ['headers', scope.headers],
    ['missing', undefined],
    ['list.length', undefined],
  ])('finds %s', (text, found) => {
    expect(compilePath(text)?.(scope)).toEqual(found)
  })

  it.each(['{{ list }}', 'list()', 'list + 1', '', 'a.', '[]', 'list || a', 'list | length'])('rejects %s', (text) => {
    expect(compilePath(text)).toBeUndefined()
  })
})

describe('the headers that a template can use', () => {
  it.each([
    'authorization',
    'proxy-authorization',
    'x-original-authorization',
    'cookie',
    'set-cookie',
    'x-svc-token',
    'x-gitlab-token',
    'x-telegram-bot-api-secret-token',
    'x-api-key',
    'api-key',
    'x-hub-signature-256',
    'stripe-signature',
    'x-shopify-hmac-sha256',
    'x-goog-iap-jwt-assertion',
    'x-auth-password',
    'x-amz-security-token',
    'my-sig',
    'x-auth-key',
    'x-access-key',
    'x-accesskey',
    'x-functions-key',
    'ocp-apim-subscription-key',
    'x_api_key',
    'x-client-key-id',
    'x-auth',
    'x-webhook-sig',
    'x-session-id',
    'x-csrf',
  ])('do not include %s', (name) => {
    const headers = visibleHeaders({ [name]: 'canary', 'x-event': 'push', gone: undefined, many: ['a', 'b'] }, [
      'my-sig',
    ])
    expect(headers).toEqual({ 'x-event': 'push', many: 'a,b' })
    expect(render(`[{{ headers.${name} }}{{ headers["${name}"] }}]`, { headers })).toBe('[]')
  })

  it.each(['x-event-key', 'idempotency-key', 'x-issue-key', 'x-keyboard', 'x-author', 'x-spin', 'x-github-event'])(
    'include %s',
    (name) => {
      expect(visibleHeaders({ [name]: 'repo:push' })).toEqual({ [name]: 'repo:push' })
    },
  )
})
