import Relay

extension ChatModel {
    func openInbox(_ box: String?) -> ChatEffects {
        let isSame = screen.view == .inbox(box)
        if !isSame {
            leaveMarking()
            network.inbox.reset()
            network.inbox.list(box)
        }
        show(.inbox(box))
        return isSame && network.inbox.isLoaded ? [] : fetch(network.inbox.trail)
    }

    func handlePostboxNews(_ news: ChatEvent.PostboxNews) -> ChatEffects {
        switch news {
        case .boxes(let boxes):
            network.inbox.take(boxes, at: now.wall)
            _ = refreshPostboxList()
            if case .inbox(let box?) = screen.view, !boxes.contains(where: { $0.id == box }) { return openInbox(nil) }
        case .keptBoxes(let kept, let counts):
            network.inbox.take(kept, counts: counts)
        case .counts(let counts):
            network.inbox.counts = counts
        case .read(let ids, let counts):
            network.inbox.noteRead(ids, counts: counts)
        case .page(let request, let output):
            return handlePage(output, request)
        case .pageFailed(let request, let error):
            guard let fetch = network.inbox.fetch, fetch.request == request else { return [] }
            network.inbox.fetch = nil
            network.inbox.dropHeld()
            network.inbox.failure =
                error == .notConnected ? "No letter is kept on this machine, and there is no connection." : error.words
            if !network.inbox.page.isEmpty { sayMeanwhile("The page could not be listed. \(error.words)") }
            if error == .invalidToken, fetch.trail.token != nil {
                return self.fetch(Inbox.Trail(order: fetch.trail.order))
            }
        case .keptPage(let request, let letters):
            guard network.inbox.fetch?.request == request else { return [] }
            let effects = handlePage(letters.page, request, isFromNetwork: false)
            // Counts from the network are newer, if there are any.
            if network.inbox.counts.isEmpty { network.inbox.counts = letters.counts }
            // What was never listed is as recent as the newest letter that arrived.
            network.inbox.kept = Inbox.Kept(asOf: letters.asOf ?? letters.page.items.map(\.createdAt).max())
            return effects
        case .portion(let request, let portion):
            return handlePortion(portion, request)
        case .portionFailed(let request, let error):
            handleFailedPortion(error, request)
        case .created(let letter):
            // Another device may have created its postbox.
            let isUnknown =
                network.inbox.boxesAsOf != nil && !network.inbox.boxes.contains { $0.id == letter.postboxId }
            return handleLetter(letter) + (isUnknown ? [.letters(.askForBoxes)] : [])
        case .deleting(let done):
            network.inbox.deletion.progress(to: done)
        case .deleted(let result):
            guard network.inbox.endDeletion(result) else { return [] }
            let report = result.report
            say(report.words, report.isFailure ? .failure : .information)
            // How far a stopped deletion came outlasts the notice, as a failure does.
            if !report.isFailure, !result.notDeleted.isEmpty { note(report.words) }
            if case .question(let question)? = screen.overlay, question.act == .leaveDeletion {
                screen.overlay = nil
                if !report.isFailure { return [.letters(.count)] + quit() }
            }
            return [.letters(.count)]
        case .saving(let outcome):
            network.outbox.awaitedAnswers = max(0, network.outbox.awaitedAnswers - 1)
            handleSaving(outcome)
        case .subscription(let status):
            if case .error(let error) = status { note("postbox: \(error.words)") }
        }
        return []
    }

    // MARK: Pages

    /// The number of letters on a page: as many as the window has rows for.
    private var letterPageSize: Int {
        let layout = ScreenLayout(size: size, composeRows: { _ in 1 }, wantsSidebar: false, setting: settings.layout)
        return min(max(5, layout.main.rows), RelayClient.maximumPage)
    }

    /// Asks for the page that `trail` leads to, unless one is being fetched.
    private func fetch(_ trail: Inbox.Trail) -> ChatEffects {
        guard case .inbox(let box) = screen.view, network.inbox.fetch == nil else { return [] }
        let (request, limit) = (newNumber(), letterPageSize)
        network.inbox.begin(Inbox.Fetch(request: request, trail: trail, limit: limit))
        network.inbox.failure = nil
        return [
            .letters(
                .listPage(request: request, postbox: box, token: trail.token, limit: limit, order: trail.listOrder))
        ]
    }

    func refreshInbox() -> ChatEffects { fetch(network.inbox.trail) }

    func nextPage() -> ChatEffects { network.inbox.nextTrail.map { fetch($0) } ?? tell("This is the last page.") }

    func previousPage() -> ChatEffects {
        network.inbox.previousTrail.map { fetch($0) } ?? tell("This is the first page.")
    }

    func firstPage() -> ChatEffects { fetch(Inbox.Trail(order: network.inbox.order)) }

    /// Goes to the last page, by a list that starts at its end.
    func lastPage() -> ChatEffects {
        guard !network.inbox.isLastPage || network.inbox.hasMore else { return tell("This is the last page.") }
        return fetch(Inbox.Trail(order: network.inbox.order, isFromEnd: true))
    }

    func changeLetterOrder() -> ChatEffects {
        let order = network.inbox.order.opposite
        say(order == .newestFirst ? "The newest letter stands first." : "The oldest letter stands first.")
        return fetch(Inbox.Trail(order: order))
    }

    /// Lists again when connected, if the last try failed, none was made, or the page is this machine's.
    func retryInbox() -> ChatEffects {
        guard screen.view.isInbox,
            !network.inbox.isLoaded || network.inbox.failure != nil || network.inbox.kept != nil
        else { return [] }
        return fetch(network.inbox.trail)
    }

    private func handlePage(
        _ output: ListOutput<PostboxMessage>, _ request: UInt64, isFromNetwork: Bool = true
    ) -> ChatEffects {
        guard let fetch = network.inbox.fetch, fetch.request == request else { return [] }
        let turned = fetch.trail != network.inbox.trail
        network.inbox.show(output, by: fetch, isFromNetwork: isFromNetwork)
        if turned { network.inbox.selectFirst() }
        if hasScreen { network.inbox.keepLength() }
        if network.inbox.page.isEmpty, network.inbox.nextToken == nil, network.inbox.trail.count > 1 {
            return self.fetch(network.inbox.trail.goingBack())
        }
        return performHeld()
    }

    /// Performs what was requested while the page was being fetched, up to a question.
    private func performHeld() -> ChatEffects {
        var effects: ChatEffects = []
        while screen.overlay == nil, screen.focus == .main, case .inbox(let box) = screen.view,
            let next = network.inbox.takeHeld()
        {
            let pane = InboxPane(box: box)
            switch next {
            case .action(let action): effects += pane.perform(action, on: self)
            case .scroll(let lines): effects += pane.scroll(up: lines, on: self)
            }
        }
        return effects
    }

    /// Lists the page again if a deletion has left rows of it empty, or was still running when it was listed.
    func lettersToList() -> ChatEffects {
        // Without a screen the list was printed, and its numbers stay.
        guard screen.view.isInbox, network.inbox.needsListing(fillsRows: hasScreen) else { return [] }
        let trail = network.inbox.fetch?.trail ?? network.inbox.trail
        network.inbox.fetch = nil
        return fetch(trail)
    }

    private func handleLetter(_ letter: PostboxMessage) -> ChatEffects {
        var shown: String?
        for case .inbox(let box) in screen.trail + [screen.view] { shown = box }
        guard network.inbox.add(letter, shownBox: shown) else { return [] }
        // Without a screen the list was printed, and its numbers stay.
        if hasScreen { network.inbox.keepLength() }
        network.inbox.counts[letter.postboxId, default: 0] &+= 1
        attention.absence?.take(letter)
        return isLooking ? [.letters(.count)] : [.letters(.count)] + ring() + call(for: letter)
    }

    /// Goes to a letter by its number, from 1: that of its row on a screen, else that in the printed list. Says so if
    /// there is none.
    func selectLetter(_ number: Int) -> Bool {
        let ids = hasScreen ? network.inbox.letters.map(\.id) : network.inbox.numbered
        guard ids.indices.contains(number - 1) else {
            say("The list has \(Wording.count(ids.count, "letter")).", .failure)
            return false
        }
        let id = ids[number - 1]
        if !network.inbox.letters.contains(where: { $0.id == id }) { network.inbox.setFilter(nil) }
        guard let place = network.inbox.letters.firstIndex(where: { $0.id == id }) else {
            say("Letter \(number) is not there any more.", .failure)
            return false
        }
        network.inbox.open = nil
        network.inbox.choose(place)
        return true
    }

    func sayPostboxFirst() {
        say("Open the postbox first" + (settings.keys.label(of: .openPostbox).map { ": \($0)" } ?? "."))
    }
}
