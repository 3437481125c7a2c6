// The reference for the benchmark: bare Fastify with one route, a bearer check and schemas, which stores nothing. It is
// plain JavaScript, so that its start includes no type stripping.
import { hash, timingSafeEqual } from 'node:crypto'
import { fastify } from 'fastify'

const expected = hash('sha256', process.env['BENCH_TOKEN'] ?? '', 'buffer')

const app = fastify()
app.addHook('onRequest', (request, reply, done) => {
  const { authorization = '' } = request.headers
  const given = authorization.startsWith('Bearer ') ? authorization.slice(7) : ''
  if (timingSafeEqual(hash('sha256', given, 'buffer'), expected)) return done()
  void reply.code(401).send({ ok: false })
})
const schema = {
  body: {
    type: 'object',
    required: ['text'],
    properties: { text: { type: 'string', minLength: 1 }, mode: { enum: ['now', 'next-heartbeat'] } },
  },
  response: { 200: { type: 'object', properties: { ok: { type: 'boolean' }, mode: { type: 'string' } } } },
}
app.post('/wake', { schema }, async ({ body }) => ({ ok: true, mode: body.mode ?? 'now' }))
process.stdout.write(`listening on ${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
