// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Priority;
import io.thalamus.serving.Failure;
import io.thalamus.serving.ServingException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Requests that there is time for and others, by a clock of the test's own. */
class AdmissionTest {
  private static final long OWN = TimeUnit.MILLISECONDS.toNanos(10);
  private static final Optional<Duration> SECOND = Optional.of(Duration.ofSeconds(1));

  private long now;
  private final Admission admission = new Admission(2, Admission.LEAST_MARGIN, () -> now);

  private ServingException refused(Priority priority, Optional<Duration> left) {
    return assertThrows(
        ServingException.class, () -> admission.enter(priority, OWN, left).leave(false));
  }

  @Test
  void whoWouldBeLateIsToldWhenThereIsRoom() throws Exception {
    for (int i = 0; i < 99; i++) {
      admission.enter(Priority.MEDIUM, OWN, SECOND);
    }
    ServingException first = refused(Priority.MEDIUM, SECOND);
    assertEquals(Failure.BUSY, first.failure());
    assertEquals(
        "what waits before the request takes about 495 ms: it has 1000 ms left",
        first.getMessage());
    long second = refused(Priority.MEDIUM, SECOND).retryAfter().orElseThrow().toNanos();
    assertEquals(
        OWN / 2,
        second - first.retryAfter().orElseThrow().toNanos(),
        "each comes back at a moment of its own");
    admission.enter(Priority.HIGH, OWN, SECOND);
    admission.enter(Priority.MEDIUM, OWN, Optional.empty());
    admission.enter(Priority.MEDIUM, OWN, Optional.of(Duration.ofSeconds(2)));
    admission.enter(Priority.MEDIUM, OWN, Optional.of(Duration.ofSeconds(Long.MAX_VALUE)));
    admission.enter(Priority.MEDIUM, 0, SECOND);
  }

  @Test
  void theFirstQueueIsShorter() throws Exception {
    Admission first = new Admission(2, Admission.FIRST_MARGIN, () -> now);
    for (int i = 0; i < 49; i++) {
      first.enter(Priority.MEDIUM, OWN, SECOND);
    }
    assertThrows(ServingException.class, () -> first.enter(Priority.MEDIUM, OWN, SECOND));
  }

  @Test
  void whoeverFindsNobodyBeforeItIsLetIn() throws Exception {
    Optional<Duration> soon = Optional.of(Duration.ofNanos(1));
    admission.enter(Priority.LOW, OWN, soon).leave(true);
    admission.enter(Priority.LOW, OWN, soon);
    admission.enter(Priority.LOW, OWN, soon);
    assertTrue(refused(Priority.LOW, soon).retryAfter().isPresent());
  }

  @Test
  void theSpeedIsThatAtWhichWorkIsDone() throws Exception {
    // A request is done every 20 ms, though there are two processors for its 10 ms.
    Queue<Admission.Place> waiting = new ArrayDeque<>();
    for (int i = 0; i < 40; i++) {
      waiting.add(admission.enter(Priority.MEDIUM, OWN, SECOND));
    }
    for (int i = 0; i < 400; i++) {
      now += 2 * OWN;
      waiting.remove().leave(true);
      waiting.add(admission.enter(Priority.MEDIUM, OWN, Optional.empty()));
    }
    assertEquals(
        "what waits before the request takes about 800 ms: it has 1000 ms left",
        refused(Priority.MEDIUM, SECOND).getMessage());
  }

  @Test
  void nobodyIsLetInByASpeedThatIsGone() throws Exception {
    Queue<Admission.Place> waiting = new ArrayDeque<>();
    for (int i = 0; i < 60; i++) {
      waiting.add(admission.enter(Priority.MEDIUM, OWN, SECOND));
    }
    for (int i = 0; i < 100; i++) {
      now += OWN / 2;
      waiting.remove().leave(true);
      waiting.add(admission.enter(Priority.MEDIUM, OWN, SECOND));
    }
    admission.enter(Priority.MEDIUM, OWN, SECOND).leave(false);
    // Nothing is done for a while: of 60 requests 2 may be about to end.
    now += TimeUnit.MILLISECONDS.toNanos(150);
    refused(Priority.MEDIUM, SECOND);
    // Half of the speed, over two samples, counts nearly whole; the full speed comes back slowly.
    for (int i = 0; i < 40; i++) {
      now += OWN;
      waiting.remove().leave(true);
      waiting.add(admission.enter(Priority.MEDIUM, OWN, Optional.empty()));
    }
    refused(Priority.MEDIUM, SECOND);
    for (int i = 0; i < 40; i++) {
      now += OWN / 2;
      waiting.remove().leave(true);
      waiting.add(admission.enter(Priority.MEDIUM, OWN, Optional.empty()));
    }
    refused(Priority.MEDIUM, Optional.of(Duration.ofMillis(650)));
  }

  @Test
  void aPauseDoesNotSendThoseWhoComeBackFarApart() throws Exception {
    Queue<Admission.Place> waiting = new ArrayDeque<>();
    for (int i = 0; i < 60; i++) {
      waiting.add(admission.enter(Priority.MEDIUM, OWN, SECOND));
    }
    // For half a second a tenth is done of what usually is.
    for (int i = 0; i < 10; i++) {
      now += 5 * OWN;
      waiting.remove().leave(true);
    }
    long first = refused(Priority.MEDIUM, SECOND).retryAfter().orElseThrow().toNanos();
    long second = refused(Priority.MEDIUM, SECOND).retryAfter().orElseThrow().toNanos();
    assertTrue(second - first < OWN, "they come back as fast as requests are answered usually");
  }

  @Test
  void whoTakesLongerThanExpectedWidensTheMargin() throws Exception {
    Queue<Admission.Place> waiting = new ArrayDeque<>();
    for (int i = 0; i < 90; i++) {
      waiting.add(admission.enter(Priority.MEDIUM, OWN, SECOND));
    }
    // They are late, and nothing is done meanwhile.
    now += SECOND.orElseThrow().toNanos();
    while (!waiting.isEmpty()) {
      waiting.remove().leave(false);
    }
    for (int i = 0; i < 10; i++) {
      waiting.add(admission.enter(Priority.MEDIUM, OWN, Optional.empty()));
    }
    refused(Priority.MEDIUM, Optional.of(Duration.ofMillis(150)));
    // Many that take no longer than expected narrow it again.
    for (double limit = 300; limit > 130; limit *= 0.95) {
      for (int i = 0; i < 180; i++) {
        Optional<Duration> left = Optional.of(Duration.ofMillis((long) limit));
        admission.enter(Priority.MEDIUM, OWN, left).leave(true);
      }
    }
    admission.enter(Priority.MEDIUM, OWN, Optional.of(Duration.ofMillis(125)));
  }
}
