// Plays moves on boardgame.io, which keeps its matches in files, and prints how many a second: one JSON object.
const { fork } = require('node:child_process')
const { randomUUID } = require('node:crypto')
const { mkdtempSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const { performance } = require('node:perf_hooks')

const act = ({ G }, type, choice, comment) => {
  G.actions.push({ type, choice, comment })
}
const game = { name: 'ox', setup: () => ({ actions: [] }), moves: { act } }

async function serve(folder) {
  const { FlatFile, Server } = require('boardgame.io/server')
  const db = new FlatFile({ dir: folder })
  const server = Server({ games: [game], db, origins: ['*'] })
  const running = await server.run({ port: 0, callback: () => {} })
  process.send({ port: running.appServer.address().port })
}

async function play(url, matches, moves) {
  const { io } = require('socket.io-client')
  const seats = await Promise.all(Array.from({ length: matches }, async () => {
    const matchID = randomUUID() // a match that is not there is made when somebody syncs with it
    const socket = io(`${url}/ox`, { transports: ['websocket'] })
    const state = await new Promise((resolve) => {
      socket.once('sync', (_, { state }) => resolve(state))
      socket.emit('sync', matchID, '0', undefined, 2)
    })
    return { matchID, socket, stateID: state._stateID }
  }))
  const took = []
  const started = performance.now()
  await Promise.all(seats.map(async (seat) => {
    for (let number = 0; number < moves; number++) {
      const sent = performance.now()
      const args = ['first_choice', 'OX'[number % 2], 'a comment of usual length, say']
      const action = { type: 'MAKE_MOVE', payload: { type: 'act', args, playerID: '0' } }
      seat.stateID = await new Promise((resolve) => {
        seat.socket.once('update', (_, state) => resolve(state._stateID))
        seat.socket.emit('update', action, seat.stateID, seat.matchID, '0')
      })
      took.push(performance.now() - sent)
    }
  }))
  const seconds = (performance.now() - started) / 1000
  for (const { socket } of seats) socket.close()
  if (seats.some(({ stateID }) => stateID !== moves)) throw new Error('a move was not taken')
  took.sort((a, b) => a - b)
  return { rate: took.length / seconds, p50: took[took.length >> 1] }
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'playmolt-bench-boardgame-'))
  const server = fork(__filename, ['serve', folder], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  try {
    const { port } = await new Promise((resolve) => server.once('message', resolve))
    const url = `http://127.0.0.1:${port}`
    await play(url, 8, 10)
    console.log(JSON.stringify(await play(url, Number(process.argv[2]), Number(process.argv[3]))))
  } finally {
    server.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

if (process.argv[2] === 'serve') serve(process.argv[3])
else main()
