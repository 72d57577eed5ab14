// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceRequest.Sequence;
import io.thalamus.serving.ServingException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;

/**
 * The sequences that have begun and not ended. Thread-safe. Requests of one sequence are executed
 * one after another, on the version that it began on: a state means nothing to another one.
 */
final class Sequences {
  private final int most;
  private final long idleNanos;
  private final Map<Key, Entry> entries = new HashMap<>();

  /** Two clients may choose the same number. */
  private record Key(String model, String client, String id) {}

  /** One sequence. Under the lock of the sequences. */
  private static final class Entry {
    final Version version;
    final LoadedVersion loaded;
    final SequenceState state;
    int turns;
    boolean isOver;
    long lastNanos;
    CompletableFuture<Void> tail = CompletableFuture.completedFuture(null);

    Entry(Version version, LoadedVersion loaded) {
      this.version = version;
      this.loaded = loaded;
      this.state = new SequenceState(loaded.signature().states());
    }

    void closeIfOver() {
      if (isOver && turns == 0) {
        state.close();
        loaded.release();
      }
    }
  }

  /**
   * Sequences.
   *
   * @param most how many there may be at a time
   * @param idle after which time without a request one is forgotten
   */
  Sequences(int most, Duration idle) {
    this.most = most;
    this.idleNanos = idle.toNanos();
  }

  /** The turn of a request in its sequence. */
  final class Turn {
    private final Key key;
    private final Entry entry;
    private final boolean isLast;
    private final CompletableFuture<Void> before;
    private final CompletableFuture<Void> done = new CompletableFuture<>();

    private Turn(Key key, Entry entry, boolean isLast) {
      this.key = key;
      this.entry = entry;
      this.isLast = isLast;
      this.before = entry.tail;
      entry.tail = done;
      entry.turns++;
    }

    Version version() {
      return entry.version;
    }

    /** Returns what the sequence began on, which its sequence holds until the end of this turn. */
    LoadedVersion loaded() {
      return entry.loaded;
    }

    SequenceState state() {
      return entry.state;
    }

    /** Has an action run once the requests before are answered. */
    void await(Runnable action) {
      before.thenRun(action);
    }

    /** Ends the turn, and lets the next one begin. */
    void end(boolean isAnswered) {
      synchronized (Sequences.this) {
        if (isAnswered) {
          entry.state.advance();
        }
        entry.turns--;
        entry.lastNanos = System.nanoTime();
        if (isLast) {
          forget(key, entry);
        } else {
          entry.closeIfOver();
        }
      }
      done.complete(null);
    }
  }

  /**
   * Returns the turn of a request that has a sequence.
   *
   * @throws ServingException with UNSUPPORTED if the model keeps no state, INVALID_ARGUMENT if the
   *     sequence has not begun, BUSY if there are too many
   */
  synchronized Turn enter(InferenceRequest request, ServedModel model) throws ServingException {
    Sequence sequence = request.sequence().orElseThrow();
    Key key = new Key(request.model(), request.client().orElse(""), sequence.id());
    Entry entry = entries.get(key);
    if (sequence.isStart()) {
      ServedModel.Use use = model.acquire(request.version());
      Version version = use.version();
      LoadedVersion loaded = use.loaded();
      try {
        Entry next = begin(request, version, loaded, entry != null);
        if (entry != null) {
          forget(key, entry);
        }
        entry = next;
        loaded = null;
      } finally {
        if (loaded != null) {
          loaded.release();
        }
      }
      entries.put(key, entry);
    } else if (entry == null) {
      throw ServingException.invalid(
          "sequence_id '%s' of model '%s' has not begun, or was idle for too long: expected"
                  .formatted(sequence.id(), request.model())
              + " sequence_start");
    }
    return new Turn(key, entry, sequence.isEnd());
  }

  private Entry begin(
      InferenceRequest request, Version version, LoadedVersion loaded, boolean replacesOne)
      throws ServingException {
    if (loaded.signature().states().isEmpty()) {
      throw new ServingException(
          Failure.UNSUPPORTED,
          "model '" + request.model() + "' keeps no state between requests: leave out sequence_id");
    }
    if (entries.size() >= most && !replacesOne) {
      throw ServingException.soon(Failure.BUSY, "all " + most + " sequences are in use");
    }
    return new Entry(version, loaded);
  }

  private void forget(Key key, Entry entry) {
    entries.remove(key, entry);
    if (!entry.isOver) {
      entry.isOver = true;
      entry.closeIfOver();
    }
  }

  /** Forgets those that were idle for too long. */
  void sweep() {
    long now = System.nanoTime();
    forgetAll(key -> entries.get(key).turns == 0 && now - entries.get(key).lastNanos > idleNanos);
  }

  /** Forgets those of a model. */
  void forget(String model) {
    forgetAll(key -> key.model().equals(model));
  }

  /** Forgets all. */
  void clear() {
    forgetAll(key -> true);
  }

  private synchronized void forgetAll(Predicate<Key> condition) {
    for (Key key : List.copyOf(entries.keySet())) {
      if (condition.test(key)) {
        forget(key, entries.get(key));
      }
    }
  }
}
