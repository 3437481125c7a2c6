// Forged requests: what an attacker makes of a request that was signed, without its secret.

export interface SignedRequestText {
  headers: Readonly<Record<string, string>>
  body: string
}

/** Headers that anybody can write as a service does, so that they prove nothing. */
export const freeHeaders: ReadonlySet<string> = new Set([
  'user-agent',
  'from',
  'origin',
  'referer',
  'host',
  'via',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-real-ip',
])

/** Without the headers of the proof, and without any. */
export const withoutProof = <Request extends SignedRequestText>(
  request: Request,
  proof: readonly string[],
): Request[] => [
  { ...request, headers: {} },
  { ...request, headers: omit(request.headers, proof) },
]

/** Each header of the proof empty, short, cut, or with one wrong character; and a token without a signature. */
export function withOtherProof<Request extends SignedRequestText>(
  request: Request,
  proof: readonly string[],
): Request[] {
  const { headers } = request
  return Object.entries(headers)
    .filter(([name]) => proof.includes(name))
    .flatMap(([name, value]) =>
      forgeValues(value).map((forged) =>
        Object.assign({}, request, { headers: Object.assign({}, headers, { [name]: forged }) }),
      ),
    )
}

/** One character of the body is another one, at several places; and no body at all. */
export const withOtherBody = <Request extends SignedRequestText>(request: Request): Request[] =>
  ['', '{}', ...places.map((place) => changeAt(request.body, place))]
    .filter((body) => body !== request.body)
    .map((body) => Object.assign({}, request, { body }))

/** Long runs of the characters of hex, base64 and tokens: digests and secrets. */
export const digestsIn = (value: string): string[] => value.match(/[\w+/-]{16,}={0,2}/g) ?? []

/** Where a comparison may have ended, or has not begun. */
const places = [0, 0.25, 0.5, 0.75, 1] as const

function forgeValues(value: string): string[] {
  const [digest = value] = digestsIn(value)
  const replace = (change: (text: string) => string): string =>
    digestsIn(value).length > 0 ? value.replace(/[\w+/-]{16,}={0,2}/g, change) : change(value)
  const isHex = digestsIn(value).every((text) => /^[\da-f]+$/i.test(text))
  const forged = [
    '',
    'x',
    replace(() => ''),
    replace((text) => text.slice(0, 8)),
    ...places.map((place) => replace((text) => changeAt(text, place))),
    // A hex digest means the same in either case.
    ...(digestsIn(value).length > 0 && isHex ? [] : [replace(swapCase)]),
    ...forgeToken(digest === value ? value : (/eyJ[\w-]+\.[\w-]+\.[\w-]*/.exec(value)?.[0] ?? '')).map((token) =>
      value.replace(/eyJ[\w-]+\.[\w-]+\.[\w-]*/, token),
    ),
  ]
  return [...new Set(forged)].filter((text) => text !== value)
}

/** A JSON Web Token with a wrong signature, and one that says that it needs none. */
function forgeToken(token: string): string[] {
  const [, header, payload = '', signature = ''] = /^(eyJ[\w-]+)\.([\w-]+)\.([\w-]*)$/.exec(token) ?? []
  if (header === undefined) return []
  const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
  return [`${header}.${payload}.${changeAt(signature, 0.5)}`, `${none}.${payload}.`]
}

/** Another letter at a place between 0 and 1. The last ones of base64 may hold bits that mean nothing. */
function changeAt(text: string, place: number): string {
  const letters = Array.from(text.matchAll(/[a-z\d]/gi), ({ index }) => index)
  const usable = letters.length > 8 ? letters.slice(0, -3) : letters
  const at = usable[Math.min(usable.length - 1, Math.floor(place * usable.length))]
  if (at === undefined) return `${text}x`
  return `${text.slice(0, at)}${text[at]?.toLowerCase() === 'a' ? 'b' : 'a'}${text.slice(at + 1)}`
}

const swapCase = (text: string): string =>
  text.replaceAll(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )

const omit = (headers: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))
