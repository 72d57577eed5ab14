// SPDX-License-Identifier: Apache-2.0
package io.thalamus.streams;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.thalamus.api.Compilation;
import io.thalamus.streams.Doubling.Sink;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.osgi.util.promise.Promise;
import org.osgi.util.pushstream.PushEvent;
import org.osgi.util.pushstream.PushEventConsumer;
import org.osgi.util.pushstream.PushEventSource;
import org.osgi.util.pushstream.PushStreamProvider;

/** Order, pressure, and what happens at the same time. */
@Timeout(120)
@ResourceLock(Doubling.THREADS)
class StreamFlowTest {
  private static final long SEED = Long.getLong("thalamus.seed", 1);
  private static final long PATIENCE_SECONDS = 60;

  private static StreamOptions depth(int depth) {
    return StreamOptions.DEFAULT.withDepth(depth);
  }

  private static Sink run(Doubling doubling, StreamOptions options) {
    Sink sink = new Sink();
    doubling.streams.stream(doubling.fake.compilation(), options, doubling.source, doubling.codec())
        .forEachEvent(sink);
    return sink;
  }

  @Test
  void resultsComeInTheOrderOfTheElements() throws Exception {
    for (int depth : new int[] {1, 2, 3, 8}) {
      try (Doubling doubling = new Doubling()) {
        Sink sink = run(doubling, depth(depth));
        doubling.source.pushAll(1000);
        sink.expectNumbers(0, 999);
        sink.expectClose();
        assertEquals(1000, doubling.fake.executions.get());
        assertEquals(depth, doubling.fake.burstOptions.depth());
      }
    }
  }

  @Test
  void resultsComeInOrderThoughTheirExecutionsEndTheOtherWayRound() throws Exception {
    CountDownLatch[] ended = new CountDownLatch[5];
    for (int i = 0; i < ended.length; i++) {
      ended[i] = new CountDownLatch(i == ended.length - 1 ? 0 : 1);
    }
    try (Doubling doubling =
        new Doubling(
            number -> {
              assertTrue(ended[number + 1].await(PATIENCE_SECONDS, TimeUnit.SECONDS));
              ended[number].countDown();
              return Doubling.DONE;
            })) {
      Sink sink = run(doubling, depth(4));
      doubling.source.pushAll(4);
      sink.expectNumbers(0, 3);
      sink.expectClose();
    }
  }

  @Test
  void anElementIsWrittenWhileTheOneBeforeItIsExecuted() throws Exception {
    int frames = 20;
    CountDownLatch[] written = new CountDownLatch[frames];
    Arrays.setAll(written, i -> new CountDownLatch(1));
    try (Doubling doubling =
        new Doubling(
            number -> {
              // This device answers only when the next element has been written.
              boolean isWritten =
                  number == frames - 1
                      || written[number + 1].await(PATIENCE_SECONDS, TimeUnit.SECONDS);
              assertTrue(isWritten, "no element is written during an execution");
              return Doubling.DONE;
            })) {
      Sink sink = new Sink();
      FrameCodec<Integer, Integer> plain = doubling.codec();
      FrameCodec<Integer, Integer> telling =
          FrameCodec.of(
              (number, frame) -> {
                plain.write(number, frame);
                written[number].countDown();
              },
              plain::read);
      doubling.streams.stream(doubling.fake.compilation(), depth(2), doubling.source, telling)
          .forEachEvent(sink);
      doubling.source.pushAll(frames);
      sink.expectNumbers(0, frames - 1);
      sink.expectClose();
    }
  }

  @Test
  void aResultIsDeliveredWhileTheNextElementIsExecuted() throws Exception {
    CyclicBarrier both = new CyclicBarrier(2);
    try (Doubling doubling =
        new Doubling(
            number -> {
              if (number > 0) {
                both.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
              }
              return Doubling.DONE;
            })) {
      Sink sink = new Sink();
      sink.answer =
          number -> {
            if (number < 2 * 9) {
              both.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
            }
            return PushEventConsumer.CONTINUE;
          };
      doubling.streams.stream(
              doubling.fake.compilation(), depth(2), doubling.source, doubling.codec())
          .forEachEvent(sink);
      doubling.source.pushAll(10);
      sink.expectNumbers(0, 9);
      sink.expectClose();
    }
  }

  @Test
  void aSlowConsumerBoundsWhatIsUnderWay() throws Exception {
    int depth = 4;
    Semaphore allowed = new Semaphore(0);
    AtomicInteger delivered = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    try (Doubling doubling = new Doubling()) {
      Sink sink = new Sink();
      sink.answer =
          number -> {
            allowed.acquire();
            most.accumulateAndGet(doubling.written.get() - delivered.getAndIncrement(), Math::max);
            return PushEventConsumer.CONTINUE;
          };
      doubling.streams.stream(
              doubling.fake.compilation(), depth(depth), doubling.source, doubling.codec())
          .forEachEvent(sink);
      Thread source = doubling.source.pushAll(100);
      Doubling.await(
          "the source is held up",
          () -> doubling.written.get() == depth && source.getState() == Thread.State.WAITING);
      Doubling.await("all are executed", () -> doubling.fake.executions.get() == depth);
      for (int i = 0; i < 10; i++) {
        int due = depth + i + 1;
        allowed.release();
        Doubling.await(
            "one more is written and executed", () -> doubling.fake.executions.get() == due);
        assertEquals(due, doubling.written.get());
      }
      allowed.release(100);
      sink.expectNumbers(0, 99);
      sink.expectClose();
      assertEquals(depth, most.get());
    }
  }

  @Test
  void theSourceIsAskedToWaitWhenAllFramesAreInUse() throws Exception {
    Semaphore allowed = new Semaphore(0);
    try (Doubling doubling = new Doubling()) {
      Sink sink = new Sink();
      sink.answer =
          number -> {
            allowed.acquire();
            return PushEventConsumer.CONTINUE;
          };
      doubling.streams.stream(
              doubling.fake.compilation(), depth(3), doubling.source, doubling.codec())
          .forEachEvent(sink);
      assertEquals(0, doubling.source.push(0));
      assertEquals(0, doubling.source.push(1));
      assertTrue(doubling.source.push(2) > 0);
      allowed.release(3);
      sink.expectNumbers(0, 2);
      assertTrue(doubling.source.end() < 0);
      sink.expectClose();
      assertTrue(doubling.source.push(3) < 0, "nothing is taken after the end");
    }
  }

  @Test
  void aConsumerThatAsksForTimeIsGivenIt() throws Exception {
    try (Doubling doubling = new Doubling()) {
      Sink sink = new Sink();
      sink.answer = number -> Duration.ofDays(100).toMillis();
      var stream =
          doubling.streams.stream(
              doubling.fake.compilation(), depth(3), doubling.source, doubling.codec());
      stream.forEachEvent(sink);
      Thread source = doubling.source.pushAll(100);
      assertEquals(0, sink.number());
      Doubling.await(
          "the source is held up",
          () -> doubling.written.get() == 4 && source.getState() == Thread.State.WAITING);
      assertTrue(sink.events.isEmpty(), "the others wait");
      stream.close();
      sink.expectClose();
      source.join();
    }
  }

  @Test
  void anotherStreamIsASource() throws Exception {
    PushStreamProvider provider = new PushStreamProvider();
    List<Integer> numbers = List.of(5, 6, 7, 8);
    try (Doubling doubling = new Doubling()) {
      Promise<Integer> sum =
          doubling.streams.stream(
                  doubling.fake.compilation(),
                  depth(2),
                  provider.streamOf(numbers.stream()).filter(number -> number != 7),
                  doubling.codec())
              .map(number -> number + 1)
              .reduce(0, Integer::sum);
      assertEquals(11 + 13 + 17, sum.getValue());
    }
  }

  @Test
  void optionsGoToBurstAndExecutions() throws Exception {
    try (Doubling doubling = new Doubling()) {
      StreamOptions options =
          depth(2).withPollWindow(Duration.ZERO).withTimeout(Duration.ofMillis(7));
      Sink sink = run(doubling, options);
      doubling.source.pushAll(1);
      sink.expectNumbers(0, 0);
      sink.expectClose();
      assertEquals(Optional.of(Duration.ZERO), doubling.fake.burstOptions.pollWindow());
      assertEquals(Duration.ofMillis(7), doubling.fake.timeout);
    }
  }

  /** The example of docs/bursts.md, but for the state. */
  @Test
  void theExampleOfTheDocumentationWorks() throws Exception {
    List<float[]> played = new ArrayList<>();
    try (Doubling doubling = new Doubling()) {
      BurstStreams streams = doubling.streams;
      Compilation compilation = doubling.fake.compilation();
      PushEventSource<float[]> microphone =
          consumer -> {
            consumer.accept(PushEvent.data(new float[] {1, 2}));
            consumer.accept(PushEvent.data(new float[] {3, -4}));
            consumer.accept(PushEvent.close());
            return () -> {};
          };
      Promise<Void> end =
          streams.stream(
                  compilation,
                  StreamOptions.DEFAULT,
                  microphone,
                  FrameCodec.of(
                      (window, frame) -> frame.input(0).copyFrom(MemorySegment.ofArray(window)),
                      frame -> frame.output(0).toArray(ValueLayout.JAVA_FLOAT)))
              .forEach(played::add);
      end.getValue();
    }
    assertArrayEquals(new float[] {2, 4}, played.get(0));
    assertArrayEquals(new float[] {6, -8}, played.get(1));
  }

  /** The allocations of the fake execution are measured first, and taken off. */
  @Test
  void framesAreNotAllocated() throws Exception {
    int frames = 20_000;
    ThreadMXBean allocations = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    AtomicLong[] begins = {new AtomicLong(), new AtomicLong()};
    AtomicLong[] ends = {new AtomicLong(), new AtomicLong()};
    try (Doubling doubling = new Doubling()) {
      Integer constant = 1;
      FrameCodec<Integer, Integer> codec =
          FrameCodec.of(
              (number, frame) -> {
                note(allocations, frame.number(), frames, begins[0], ends[0]);
                frame.input(0).set(Doubling.FLOAT, 0, 1);
              },
              frame -> {
                frame.output(0);
                note(allocations, frame.number(), frames, begins[1], ends[1]);
                return constant;
              });
      Promise<Long> count =
          doubling.streams.stream(doubling.fake.compilation(), depth(1), doubling.source, codec)
              .count();
      doubling.source.pushAll(frames);
      assertEquals(frames, count.getValue());
    }
    long executing = ofExecutions(allocations, frames);
    double written = (ends[0].get() - begins[0].get()) / (frames / 2.0);
    double read = (ends[1].get() - begins[1].get() - executing) / (frames / 2.0);
    System.out.printf("bytes per frame: writing %.1f, executing and reading %.1f%n", written, read);
    // The source makes a number and an event, the stream an event: 16 bytes each.
    assertTrue(written < 40, "writing allocates " + written);
    assertTrue(read < 24, "executing and reading allocates " + read);
  }

  private static void note(
      ThreadMXBean allocations, long frame, int frames, AtomicLong begin, AtomicLong end) {
    if (frame == frames / 2) {
      begin.set(allocations.getCurrentThreadAllocatedBytes());
    } else if (frame == frames - 1) {
      end.set(allocations.getCurrentThreadAllocatedBytes());
    }
  }

  private static long ofExecutions(ThreadMXBean allocations, int frames) throws Exception {
    try (Doubling doubling = new Doubling()) {
      var compilation = doubling.fake.compilation();
      var burst = compilation.createBurst();
      Frame frame = new Frame(compilation.model().main(), StreamOptions.DEFAULT);
      long begin = 0;
      for (int i = 0; i < frames; i++) {
        if (i == frames / 2) {
          begin = allocations.getCurrentThreadAllocatedBytes();
        }
        var execution = compilation.createExecution();
        frame.bind(execution);
        execution.burstCompute(burst);
      }
      long end = allocations.getCurrentThreadAllocatedBytes();
      frame.close();
      burst.close();
      return end - begin;
    }
  }

  /** Sources of several threads, consumers that dawdle, and ends at any moment. */
  @Test
  void nothingIsLostOrLeftWhateverHappensAtTheSameTime() throws Exception {
    System.out.println("streams: seed = " + SEED);
    SplittableRandom random = new SplittableRandom(SEED);
    for (int round = 0; round < 60; round++) {
      int threads = random.nextInt(1, 4);
      int perThread = random.nextInt(1, 200);
      boolean isClosed = random.nextBoolean();
      int closeAfter = random.nextInt(0, threads * perThread);
      try (Doubling doubling = new Doubling()) {
        Sink sink = new Sink();
        var stream =
            doubling.streams.stream(
                doubling.fake.compilation(),
                depth(random.nextInt(1, 6)),
                doubling.source,
                doubling.codec());
        stream.forEachEvent(sink);
        List<Thread> sources = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
          sources.add(
              Thread.ofPlatform()
                  .start(
                      () -> {
                        try {
                          for (int i = 0; i < perThread; i++) {
                            if (doubling.source.push(i) < 0) {
                              return;
                            }
                          }
                        } catch (Exception e) {
                          throw new IllegalStateException(e);
                        }
                      }));
        }
        if (isClosed) {
          Doubling.await("some came", () -> sink.events.size() >= closeAfter);
          stream.close();
        }
        for (Thread source : sources) {
          source.join();
        }
        doubling.source.end();
        doubling.awaitNothingLeft();
        long data = sink.events.stream().filter(event -> !event.isTerminal()).count();
        assertEquals(data + 1, sink.events.size(), "one end");
        if (!isClosed) {
          assertEquals((long) threads * perThread, data, "round " + round);
          assertTrue(List.copyOf(sink.events).getLast().isTerminal());
        } else {
          assertTrue(data >= closeAfter, "round " + round);
        }
      }
    }
  }
}
