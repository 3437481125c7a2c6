// Runs the suite of providers: a streamed reply, counted tokens, an aborted call and an unknown model.
import { providerContract } from 'svc-gateway/testing'
import provider from '../src/index.ts'
import { openModelServer } from './model-server.ts'

providerContract(provider, openModelServer, { unknownModelId: 'huge' })
