// The WhatsApp channel: as a linked device of a phone, or through the Cloud API of a business account.
import { defineChannel, Type } from 'svc-gateway/plugin'
import { normalizeId } from './address.ts'
import { connectCloud } from './cloud.ts'
import { Config, hasCloudKey, isCloud } from './config.ts'
import { connectDevice } from './device.ts'
import { linkDevice, unlinkDevice } from './login.ts'

export default defineChannel<Config>({
  name: 'whatsapp',
  description: 'Sends and receives WhatsApp messages, as a linked device or through the Cloud API.',
  config: Config,
  target: Type.String({
    pattern: String.raw`^(\+?[0-9]{6,15}|[0-9]+(-[0-9]+)?@g\.us|[0-9]+@lid)$`,
    description:
      'A phone number with country code, such as `+15551234567`, or the id of a group, which ends in `@g.us`.',
  }),
  sender: Type.String({
    pattern: String.raw`^(\+[1-9][0-9]{5,14}|[0-9]+@lid)$`,
    description: 'a phone number with country code, such as `+15551234567`, or an id that ends in `@lid`',
  }),
  group: Type.String({
    pattern: String.raw`^[0-9]+(-[0-9]+)?@g\.us$`,
    description: 'the id of a group, which ends in `@g.us`',
  }),
  normalizeId,
  limits: {
    maxText: 4000,
    format: {
      bold: ['*', '*'],
      italic: ['_', '_'],
      strike: ['~', '~'],
      code: ['`', '`'],
      codeBlock: ['```\n', '\n```'],
      endAtLines: true,
    },
    idempotency: 'none',
    maxFileBytes: 16 * 1024 * 1024,
  },
  packages: (config) => ({ baileys: hasCloudKey(config) ? undefined : '7.0.0-rc14' }),
  connect: async (config, context) =>
    isCloud(config) ? connectCloud(config, context) : connectDevice(config, context),
  login: linkDevice,
  logout: unlinkDevice,
})
