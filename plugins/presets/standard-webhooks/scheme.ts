// The schemes of Standard Webhooks, and of Svix, on which it is based: with a shared secret, or with a key pair.
import { defineScheme, type Signature } from 'svc-gateway/plugin'

/** Each name of the headers, with a secret and with a public key. */
const signatures = ['webhook', 'svix'].flatMap((family): Signature[] => {
  const shared: Signature = {
    header: `${family}-signature`,
    encoding: 'base64',
    separator: ' ',
    prefix: 'v1,',
    signed: `{headers.${family}-id}.{timestamp}.{body}`,
    id: `${family}-id`,
    timestamp: { header: `${family}-timestamp` },
    secretEncoding: 'base64',
    secretPrefix: 'whsec_',
  }
  return [shared, { ...shared, algorithm: 'ed25519', prefix: 'v1a,', secretPrefix: 'whpk_' }]
})

export const schemes = [
  defineScheme({ name: 'standard-webhooks', description: 'Webhooks as standardwebhooks.com specifies.', signatures }),
  defineScheme({ name: 'svix', description: 'Webhooks that Svix sends.', signatures }),
]
