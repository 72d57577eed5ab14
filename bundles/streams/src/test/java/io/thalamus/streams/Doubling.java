// SPDX-License-Identifier: Apache-2.0
package io.thalamus.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.ExecutionReport;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.osgi.util.pushstream.PushEvent;
import org.osgi.util.pushstream.PushEventConsumer;
import org.osgi.util.pushstream.PushEventSource;

/**
 * A model of two numbers that doubles them, its streams, and a source that is pushed by hand. Each
 * test has one; closing it checks that nothing is left.
 */
final class Doubling implements AutoCloseable {
  /** The lock of tests that look at the threads of streams. */
  static final String THREADS = "thalamus-stream";

  static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;
  static final Shape SHAPE = Shape.of(1, 2);
  static final ExecutionReport DONE = FakeNetworks.done(SHAPE);
  private static final long PATIENCE_SECONDS = 60;

  /** Called for each execution with the first number, before it is doubled. */
  interface Hook {
    ExecutionReport before(int number) throws Exception;
  }

  final FakeNetworks fake;
  final BurstStreams streams;
  final Source source = new Source();
  final AtomicInteger written = new AtomicInteger();
  final Set<Thread> threadsBefore = threads();

  Doubling(Hook hook) {
    fake =
        new FakeNetworks(
            graph(),
            (inputs, outputs) -> {
              ExecutionReport report = hook.before((int) inputs[0].get(FLOAT, 0));
              for (long at = 0; at < outputs[0].byteSize(); at += Float.BYTES) {
                outputs[0].set(FLOAT, at, 2 * inputs[0].get(FLOAT, at));
              }
              return report;
            });
    streams = new BurstStreams(fake.networks());
  }

  Doubling() {
    this(number -> DONE);
  }

  private static Subgraph graph() {
    SubgraphBuilder graph = new SubgraphBuilder();
    int x = graph.input("x", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    int y = graph.output("y", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    graph.operation(OperationCode.ADD, List.of(x, x, graph.int32(0)), List.of(y));
    return graph.build();
  }

  /** Numbers in, their doubles out. */
  FrameCodec<Integer, Integer> codec() {
    return FrameCodec.of(
        (number, frame) -> {
          frame.input(0).set(FLOAT, 0, number);
          written.incrementAndGet();
        },
        frame -> (int) frame.output(0).get(FLOAT, 0));
  }

  /** The names of threads of streams begin so. */
  static Set<Thread> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("thalamus-stream-"))
        .filter(thread -> !thread.getName().contains("callback"))
        .collect(Collectors.toSet());
  }

  /** Returns once the condition holds. */
  static void await(String what, BooleanCondition condition) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (!condition.holds()) {
      assertTrue(System.nanoTime() < end, "it never happened: " + what);
      Thread.sleep(1);
    }
  }

  interface BooleanCondition {
    boolean holds() throws Exception;
  }

  /** Returns once nothing of the streams is left. */
  void awaitNothingLeft() throws Exception {
    await("bursts are closed", () -> fake.openBursts.get() == 0);
    await("memories are closed", () -> fake.openMemories.get() == 0 && fake.isAllUnmapped());
    await("threads end", () -> threadsBefore.containsAll(threads()));
  }

  @Override
  public void close() {
    streams.close();
    try {
      awaitNothingLeft();
    } catch (Exception e) {
      throw new AssertionError("something is left", e);
    }
  }

  /** A source that a test pushes. */
  static final class Source implements PushEventSource<Integer> {
    final AtomicInteger opened = new AtomicInteger();
    final AtomicInteger closed = new AtomicInteger();
    private volatile PushEventConsumer<? super Integer> consumer;

    @Override
    public AutoCloseable open(PushEventConsumer<? super Integer> aec) {
      opened.incrementAndGet();
      consumer = aec;
      return closed::incrementAndGet;
    }

    long push(int number) throws Exception {
      return consumer.accept(PushEvent.data(number));
    }

    long end() throws Exception {
      return consumer.accept(PushEvent.close());
    }

    long fail(Exception reason) throws Exception {
      return consumer.accept(PushEvent.error(reason));
    }

    /** Pushes the numbers below a limit in a thread of its own, and ends if all were taken. */
    Thread pushAll(int limit) {
      return Thread.ofPlatform()
          .name("test-source")
          .start(
              () -> {
                try {
                  for (int i = 0; i < limit; i++) {
                    if (push(i) < 0) {
                      return;
                    }
                  }
                  end();
                } catch (Exception e) {
                  throw new IllegalStateException(e);
                }
              });
    }
  }

  /** A consumer that keeps what it gets, and answers as a test says. */
  static final class Sink implements PushEventConsumer<Integer> {
    final BlockingQueue<PushEvent<? extends Integer>> events = new LinkedBlockingQueue<>();
    volatile Answer answer = number -> PushEventConsumer.CONTINUE;

    interface Answer {
      long to(int number) throws Exception;
    }

    @Override
    public long accept(PushEvent<? extends Integer> event) throws Exception {
      events.add(event);
      return event.isTerminal() ? PushEventConsumer.ABORT : answer.to(event.getData());
    }

    int number() throws Exception {
      return take().getData();
    }

    PushEvent<? extends Integer> take() throws Exception {
      PushEvent<? extends Integer> event = events.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
      assertTrue(event != null, "nothing came");
      return event;
    }

    void expectNumbers(int first, int last) throws Exception {
      for (int i = first; i <= last; i++) {
        assertEquals(2 * i, number());
      }
    }

    void expectClose() throws Exception {
      assertEquals(PushEvent.EventType.CLOSE, take().getType());
      assertTrue(events.isEmpty(), "nothing comes after the end");
    }

    Throwable failure() throws Exception {
      Throwable failure = take().getFailure();
      assertTrue(events.isEmpty(), "nothing comes after the end");
      return failure;
    }
  }
}
