// Describes binary content in a tool's result in one sentence, because a model can do nothing with base64.
import type { Json } from '../plugin/plugin.ts'

/** Deeper values are left as they are. */
const maxDepth = 200

/** Replaces images, audio and blobs as MCP and the APIs of models write them, and data URLs. */
export function describeBinaryContent(value: Json, depth = 0): Json {
  if (typeof value === 'string') return describeDataUrls(value)
  if (typeof value !== 'object' || value === null || depth > maxDepth) return value
  if (Array.isArray(value)) return value.map((item) => describeBinaryContent(item, depth + 1))
  const object = value as JsonObject
  const { data, blob, uri } = object
  const type = typeOf(object)
  if (isBase64(data) && type !== undefined && (isMedia(object) || isLong(data, type))) return describe(type, data)
  const entries = Object.entries(object).map(([key, item]) => [key, describeBinaryContent(item, depth + 1)])
  if (isBase64(blob) && typeof uri === 'string') entries.push(['blob', describe(type ?? '', blob)])
  return Object.fromEntries(entries) as Json
}

type JsonObject = Readonly<Record<string, Json>>

/** The media type of an object, under any of the usual names. */
function typeOf({ mimeType, mediaType, media_type: snakeCased }: JsonObject): string | undefined {
  return [mimeType, mediaType, snakeCased].find((type) => typeof type === 'string')
}

const isMedia = ({ type }: JsonObject): boolean => type === 'image' || type === 'audio'

/** Not a date or a word, which have the letters of base64, too. */
const isLong = (data: string, type: string): boolean => data.length >= 100 && !isText(type)

const isText = (type: string): boolean => /^text\/|[/+](?:json|xml|yaml|javascript)\b/.test(type)

const isBase64 = (value: Json | undefined): value is string =>
  typeof value === 'string' && value !== '' && !/[^\w+/=\s-]/.test(value)

/** Shorter ones inside a text are left, such as the tiny images of style sheets: they are a part of the text. */
const minEmbeddedLength = 1_000
const dataUrls = /data:([\w.+-]+\/[\w.+-]+)(?:;[\w.-]+=[\w.%-]+)*;base64,([\w+/=%-]+)/gi

const describeDataUrls = (text: string): string =>
  text.replace(dataUrls, (url, type: string, data: string) =>
    isText(type) || (url !== text && data.length < minEmbeddedLength) ? url : describe(type, data),
  )

function describe(type: string, data: string): string {
  const known = /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) ? type : 'application/octet-stream'
  return `[${known}, ${formatSize(Buffer.byteLength(data, 'base64'))}: binary content is not shown to the model]`
}

function formatSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
