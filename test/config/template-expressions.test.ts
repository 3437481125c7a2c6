// Fallbacks, filters and optional lines of templates.
import { describe, expect, it } from 'vitest'
import { compileTemplate, findTemplateProblems } from '../../core/config/template/template.ts'

const payload = {
  text: 'Hello',
  blank: ' \n',
  none: null,
  zero: 0,
  no: false,
  emptyList: [],
  emptyObject: {},
  list: ['red', null, 'green', ' ', 7, { a: 1 }],
  object: { a: 1, b: [2] },
  amount: 1234567.5,
  'a | b': 'quoted bar',
}
const render = (text: string, values: object = payload) =>
  compileTemplate(text)({ payload: values, headers: { 'x-a': 'h' }, query: {}, path: 'p', now: 'n' })
const filtered = (value: unknown, filter: string) => render(`{{ v | ${filter} }}`, { v: value })

describe('a fallback', () => {
  it.each([
    ['a value', '{{ text || "none" }}', 'Hello'],
    ['a missing value', '{{ missing || text }}', 'Hello'],
    ['null', '{{ none || text }}', 'Hello'],
    ['blank text', '{{ blank || text }}', 'Hello'],
    ['an empty list', '{{ emptyList || text }}', 'Hello'],
    ['an empty object', '{{ emptyObject || text }}', 'Hello'],
    ['zero, which is not empty', '{{ zero || text }}', '0'],
    ['false, which is not empty', '{{ no || text }}', 'false'],
    ['several empty values', '{{ missing || none || blank || headers.x-a || text }}', 'h'],
    ['text in double quotes', '{{ missing || "it\'s || {a}" }}', "it's || {a}"],
    ['text in single quotes', `{{ missing || 'say "hi"' }}`, 'say "hi"'],
    ['nothing else', '[{{ missing || none }}]', '[]'],
    ['no white space', '{{missing||text}}', 'Hello'],
    ['a key with a bar', '{{ missing || ["a | b"] }}', 'quoted bar'],
  ])('is used or not for %s', (_case, text, expected) => {
    expect(render(text)).toBe(expected)
    expect(findTemplateProblems(text)).toEqual([])
  })

  it('and filters apply from left to right', () => {
    expect(render('{{ missing || text | upper }}')).toBe('HELLO')
    expect(render('{{ missing | upper || "Nobody" }}')).toBe('Nobody')
    expect(render('{{ text | upper | truncate: 3 | lower }}')).toBe('he…')
  })
})

describe('the filter date', () => {
  it.each([
    ['ISO text', '2026-11-20T08:00:05Z', '2026-11-20 08:00:05 UTC'],
    ['ISO text with an offset', '2026-11-20T09:30:05.123+01:30', '2026-11-20 08:00:05 UTC'],
    ['an offset without a colon', '2026-11-20T09:00:05+0100', '2026-11-20 08:00:05 UTC'],
    ['ISO text without a zone, which is UTC', '2026-11-20 08:00', '2026-11-20 08:00:00 UTC'],
    ['its own result', '2026-11-20 08:00:05 UTC', '2026-11-20 08:00:05 UTC'],
    ['a day', '2026-11-20', '2026-11-20'],
    ['unix seconds', 1_700_000_000, '2023-11-14 22:13:20 UTC'],
    ['unix milliseconds', 1_700_000_000_123, '2023-11-14 22:13:20 UTC'],
    ['fractions of seconds', 1_700_000_000.5, '2023-11-14 22:13:20 UTC'],
    ['digits in text', '1700000000', '2023-11-14 22:13:20 UTC'],
    ['zero', 0, '1970-01-01 00:00:00 UTC'],
    ['other text, unchanged', 'tomorrow', 'tomorrow'],
    ['a day that does not exist, unchanged', '2026-13-40T25:00Z', '2026-13-40T25:00Z'],
    ['a number that is no time, unchanged', 1e300, '1e+300'],
    ['a list, unchanged', [1], '[1]'],
    ['a missing value', null, ''],
  ])('shows %s', (_case, value, expected) => {
    expect(filtered(value, 'date')).toBe(expected)
  })
})

describe('tables, texts around a value, and lists', () => {
  it.each<[unknown, string, string]>([
    [1, 'map: "1=open, 2=closed"', 'open'],
    ['2', 'map: "1=open, 2=closed"', 'closed'],
    [3, 'map: "1=open, 2=closed"', '3'],
    [3, 'map: "1=open, *=unknown"', 'unknown'],
    [false, 'map: "true=draft, false="', ''],
    ['constructor', 'map: "a=b"', 'constructor'],
    ['a', 'map: "a=b=c"', 'b=c'],
    ['Ada', 'prefix: " by "', ' by Ada'],
    ['', 'prefix: " by "', ''],
    [undefined, 'prefix: " by " | suffix: ")"', ''],
    [5, 'prefix: "(" | suffix: " of them)"', '(5 of them)'],
    [[{ name: 'a', size: 1 }, { name: 'b' }], 'each: "- {item.name}: {item.size || \'?\'}"', '- a: 1\n- b: ?'],
    [['x', 'y'], 'each: "{index}. {item}"', '0. x\n1. y'],
    [[{ a: 'one\ntwo' }, { a: '' }, {}, { a: null }], 'each: "- {item.a}"', '- one two'],
    [[{ labels: ['a', 'b'] }], 'each: "- {item.labels | join}"', '- a, b'],
    [['{{ secret }}', '{item}'], 'each: "- {item}"', '- {{ secret }}\n- {item}'],
    [[], 'each: "- {item}"', ''],
    ['no list', 'each: "- {item}"', 'no list'],
  ])('%j | %s is %j', (value, filter, expected) => {
    expect(render(`{{ v | ${filter} }}`, { v: value, secret: 'no' })).toBe(expected)
  })

  it('a list shows two hundred elements, and says how many there are more', () => {
    const lines = render('{{ v | each: "- {item}" }}', { v: Array.from({ length: 205 }, (_, n) => n) }).split('\n')
    expect([lines.length, lines[199], lines[200]]).toEqual([201, '- 199', 'and 5 more'])
  })

  it('an element reaches nothing of the request', () => {
    expect(render('{{ v | each: "- {item}{payload.secret}{headers.x}{secret}" }}', { v: ['a'], secret: 'no' })).toBe(
      '- a',
    )
  })
})

describe('the other filters', () => {
  it.each([
    [1_234_567.5, 'number', '1,234,567.5'],
    [-1234, 'number', '-1,234'],
    [12, 'number', '12'],
    [0.1, 'number', '0.1'],
    ['12345678901234567890.25', 'number', '12,345,678,901,234,567,890.25'],
    ['a lot', 'number', 'a lot'],
    [1e21, 'number', '1e+21'],
    [true, 'number', 'true'],
    ['Straße', 'upper', 'STRASSE'],
    ['ÄB', 'lower', 'äb'],
    [['Ab'], 'lower', '["ab"]'],
    [' a b\n', 'trim', 'a b'],
    ['abcdef', 'truncate: 6', 'abcdef'],
    ['abcdefg', 'truncate:6', 'abcde…'],
    ['😀😀😀', 'truncate: 3', '😀😀😀'],
    ['😀😀😀😀', 'truncate: 3', '😀😀…'],
    [{ a: [1, 2, 3] }, 'truncate: 5', '{"a"…'],
    [123456, 'truncate: 1', '…'],
    ['a "b"', 'json', '"a \\"b\\""'],
    [{ a: [1] }, 'json', '{"a":[1]}'],
    [payload.list, 'join', 'red, green, 7, {"a":1}'],
    [payload.list, 'join: " / "', 'red / green / 7 / {"a":1}'],
    [['a', 'b'], "join: ''", 'ab'],
    ['text', 'join', 'text'],
    ['😀b', 'length', '2'],
    [[1, 2, 3], 'length', '3'],
    [[], 'length', '0'],
    [{ a: 1, b: 2 }, 'length', '2'],
    [7, 'length', '7'],
  ])('%j | %s is %s', (value, filter, expected) => {
    expect(filtered(value, filter)).toBe(expected)
  })

  it('leave a missing value missing', () => {
    const filters = ['number', 'upper', 'lower', 'trim', 'truncate: 3', 'json', 'join', 'length']
    expect(filters.map((filter) => filtered(undefined, filter)).join('')).toBe('')
  })

  it('never read their result as a template', () => {
    expect(render('{{ a | join: "{" }}', { a: ['{', ' b }', '}'], b: 'secret' })).toBe('{{ b }{}')
    expect(render('{{ missing || "{{ b" }}', { b: 'secret' })).toBe('{{ b')
  })
})

describe('an invalid expression', () => {
  it.each([
    ['{{ a | uper }}', '{{ a | uper }} at character 1: "uper" is not a filter; did you mean "upper"?'],
    ['Hi {{ a | constructor }}', 'at character 4: "constructor" is not a filter; the filters are date, number'],
    ['{{ b }}\n  {{ a | }}', '{{ a | }} at line 2, character 3: "|" must be followed by the name of a filter'],
    ['{{ a || }}', '"||" must be followed by a path, or by a text in quotes'],
    ['{{ a || | upper }}', '"||" must be followed by a path'],
    ['{{ a || "open }}', '"||" must be followed by a path'],
    ['{{ a | truncate }}', 'the filter truncate needs a length from 1 to 1000000, such as truncate: 80'],
    ['{{ a | truncate: 0 }}', 'the filter truncate needs a length'],
    ['{{ a | truncate: "5" }}', 'the filter truncate needs a length'],
    ['{{ a | truncate: b }}', 'the argument of truncate must be a whole number or a text in quotes'],
    ['{{ a | truncate: 1.5 }}', 'the argument of truncate must be a whole number'],
    ['{{ a | map }}', 'the filter map needs a table in quotes, such as map: "1=open, 2=closed, *=unknown"'],
    ['{{ a | map: "open" }}', 'the filter map needs a table in quotes'],
    ['{{ a | prefix: 5 }}', 'the filter prefix needs a text in quotes'],
    ['{{ a | each: "item" }}', 'the filter each needs a text in quotes with a path in braces'],
    ['{{ a | each: "{item | uper}" }}', 'the filter each has an expression in braces of which "uper" is not a filter'],
    ['{{ a | upper: 3 }}', 'the filter upper has no argument'],
    ['{{ a | join: 3 }}', 'the filter join needs its separator in quotes'],
    ['{{ a b }}', 'it is not a path'],
    ['{{ "a" "b" }}', 'it is not a path'],
    ['{{ }}', 'it is not a path'],
  ])('is described with its place: %s', (text, problem) => {
    expect(findTemplateProblems(text)).toEqual([{ problem: expect.stringContaining(problem), warning: false }])
  })

  it('is described together with all others', () => {
    expect(findTemplateProblems('{{ a | uper }} {{ a + b }} {{ c | trim }} {{')).toHaveLength(3)
  })
})

describe('a line of a template', () => {
  it.each([
    ['is dropped if its placeholder is empty', 'A\nB: {{ missing }}\nC', 'A\nC'],
    ['is dropped if all of its placeholders are empty', 'A\n{{ missing }} {{ blank }} {{ emptyList }}', 'A'],
    ['is kept if one of them is not empty', 'A\n{{ missing }}, {{ zero }}', 'A\n, 0'],
    ['is kept if it has no placeholder', '{{ missing }}\nB:\nC', 'B:\nC'],
    ['is kept if it has a fallback', 'A\nB: {{ missing || "?" }}', 'A\nB: ?'],
    ['is kept if it is the only one', 'A: {{ missing }}', 'A: '],
    ['keeps its blank lines', 'A\n\n\n{{ text }}\n', 'A\n\n\nHello\n'],
    ['leaves one of the blank lines around it', 'A\n\nB: {{ missing }}\n\nC', 'A\n\nC'],
    ['leaves one blank line, whichever side it is on', 'A\nB: {{ missing }}\n\n\nC', 'A\n\nC'],
    ['leaves no blank line at the beginning', '{{ missing }}\n\nA', 'A'],
    ['leaves no blank line at the end', 'A\n\n{{ missing }}\n', 'A'],
    ['does not affect blank lines elsewhere', '{{ missing }}\nA\n\n\nB', 'A\n\n\nB'],
    ['may end with a carriage return', 'A\r\n{{ missing }}\r\nB\r\n', 'A\r\nB\r\n'],
    ['is a line of the template, not of a value', 'A {{ twoLines }}\n{{ missing }}\nB', 'A 1\n\n2\nB'],
    ['may contain a placeholder over several lines', 'A\n{{\n missing\n}}\nB', 'A\nB'],
  ])('%s', (_case, text, expected) => {
    expect(render(text, { ...payload, twoLines: '1\n\n2' })).toBe(expected)
  })

  it('renders nothing if every line is dropped', () => {
    expect(render('{{ missing }}\n{{ none }}')).toBe('')
  })

  it('counts toward the limit of 1 MiB', () => {
    const megabyte = 'x'.repeat(1024 * 1024)
    expect(() => render('{{ missing }}\n{{ a }}\nb', { a: megabyte })).toThrow('to more than 1 MiB')
    expect(render('{{ missing }}\n{{ a }}', { a: megabyte })).toHaveLength(megabyte.length)
  })
})
