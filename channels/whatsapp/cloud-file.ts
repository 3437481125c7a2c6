// Which files the Cloud API accepts, and as what: it refuses any other type, and pictures above 5 MB.
import { isUtf8 } from 'node:buffer'
import { line } from 'svc-gateway/kit'
import type { OutboundMessage, SendResult } from 'svc-gateway/plugin'

type File = NonNullable<OutboundMessage['file']>

export interface CloudFile extends File {
  kind: 'image' | 'video' | 'audio' | 'document'
}

/** A file as it is uploaded, or why it cannot be. */
export function prepareFile(file: File): CloudFile | SendResult {
  const type = file.type.split(';')[0]?.trim().toLowerCase() ?? ''
  if (/^image\/(jpeg|png)$/.test(type))
    return file.data.length <= maxPictureBytes
      ? { ...file, type, kind: 'image' }
      : refused('The Cloud API accepts pictures of at most 5 MB.')
  if (/^video\/(mp4|3gpp)$/.test(type)) return { ...file, type, kind: 'video' }
  if (/^audio\/(aac|amr|mpeg|mp4|ogg)$/.test(type)) return { ...file, type, kind: 'audio' }
  if (documentTypes.has(type)) return { ...file, type, kind: 'document' }
  // Its name still says what it is: an app opens `report.csv` as a table.
  if (isText(file.data)) return { ...file, type: 'text/plain', kind: 'document' }
  return refused(`The Cloud API accepts no files of the type ${line(type, 80) || 'unknown'}; ${accepted}.`)
}

const maxPictureBytes = 5 * 1024 * 1024

const office = 'application/vnd.openxmlformats-officedocument'

/** What Meta lists for documents. */
const documentTypes: ReadonlySet<string> = new Set([
  'text/plain',
  'application/pdf',
  'application/msword',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  `${office}.wordprocessingml.document`,
  `${office}.spreadsheetml.sheet`,
  `${office}.presentationml.presentation`,
])

const accepted = 'it accepts texts, PDF, Word, Excel and PowerPoint, pictures as JPEG or PNG, MP4 videos and audio'

const isText = (data: Uint8Array): boolean => isUtf8(data) && !data.includes(0)

const refused = (detail: string): SendResult => ({ outcome: 'failed', reason: 'permanent', detail })
