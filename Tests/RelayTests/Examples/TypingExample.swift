import Relay

// The example of the article "Who is here", word for word.

func keyPressed(_ client: RelayClient) async throws {
    try await client.setTyping(in: "chat.lobby")
}
