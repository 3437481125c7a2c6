// Explains why a PostgreSQL database cannot be used, in words that name the fix where the driver's own do not.
import { describe } from './failure.ts'

/** Node's codes for a certificate whose authority is not known here. */
const unknownAuthority: ReadonlySet<unknown> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Returns a clause without a period. It never contains the URL, which may have a password. */
export function explainRefusal(error: unknown): string {
  const { code, path, message = '' } = error as Partial<NodeJS.ErrnoException>
  if (unknownAuthority.has(code))
    return "its certificate is not signed by a known authority; name the authority's file with sslrootcert in the URL"
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'its certificate is for another host; use a host that the certificate names, or sslmode=verify-ca'
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired; renew it on the server'
  if (code === 'ERR_OSSL_PEM_NO_START_LINE')
    return 'a file of sslrootcert, sslcert or sslkey is not in PEM format; correct the path in the URL'
  if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH')
    return 'sslkey is not the key of sslcert; correct the paths in the URL'
  // The driver's sentence if there is no password at all.
  if (message.includes('client password must be a string'))
    return 'it asks for a password; add one to the URL, or set PGPASSWORD'
  // The driver's sentence if it cannot connect in time.
  if (message === 'timeout expired')
    return 'it does not answer; check the host and the port, and that a firewall lets the gateway through'
  if (path !== undefined && message.includes(', open '))
    return `the file ${path} of sslrootcert, sslcert or sslkey cannot be read (${code}); correct the path in the URL`
  if (code === '53300')
    return 'it has no connection left; raise max_connections, or use fewer gateways: each of them needs five connections'
  if (code === '25006')
    return 'it only reads, as a standby does; name the primary in the URL, or reset default_transaction_read_only'
  return describe(error)
}
