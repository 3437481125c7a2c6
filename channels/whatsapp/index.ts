// The WhatsApp channel: as a linked device of a phone, or through the Cloud API of a business account.
import { defineChannel, Type } from 'svc-gateway/plugin'
import { normalizeId } from './address.ts'
import { connectCloud } from './cloud.ts'
import { setUpCloud } from './cloud-setup.ts'
import { Config, hasCloudKey, isCloud } from './config.ts'
import { connectDevice } from './device.ts'
import { linkDevice, unlinkDevice } from './login.ts'

/** As in `address.ts`. */
const userIds = String.raw`[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}`
const groups = String.raw`[0-9]+(-[0-9]+)?@g\.us|Y2FwaV9ncm91cD[A-Za-z0-9+/=_-]{1,200}`

export default defineChannel<Config>({
  name: 'whatsapp',
  description: 'Sends and receives WhatsApp messages, as a linked device or through the Cloud API.',
  config: Config,
  target: Type.String({
    pattern: `^(\\+?[0-9]{6,15}|${groups}|[0-9]+@lid|${userIds})$`,
    description:
      'A phone number with country code, such as `+15551234567`, or the id of a group, which ends in `@g.us`. With the ' +
      'Cloud API also a business-scoped user id, such as `US.13491208655302741918`, or the id of a group there.',
  }),
  sender: Type.String({
    pattern: `^(\\+[1-9][0-9]{5,14}|[0-9]+@lid|${userIds})$`,
    description:
      'a phone number with country code, such as `+15551234567`, an id that ends in `@lid`, or a business-scoped user ' +
      'id, such as `US.13491208655302741918`',
  }),
  group: Type.String({
    pattern: `^(${groups})$`,
    description: 'the id of a group, which ends in `@g.us`, or begins with `Y2FwaV9ncm91cD` with the Cloud API',
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
  login: (config, context) => (isCloud(config) ? setUpCloud(config, context) : linkDevice(config, context)),
  logout: unlinkDevice,
})
