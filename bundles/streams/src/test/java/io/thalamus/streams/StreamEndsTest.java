// SPDX-License-Identifier: Apache-2.0
package io.thalamus.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.streams.Doubling.Sink;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.osgi.util.promise.Promise;
import org.osgi.util.pushstream.PushEvent;
import org.osgi.util.pushstream.PushEventConsumer;
import org.osgi.util.pushstream.PushEventSource;
import org.osgi.util.pushstream.PushStream;

/** All the ways in which a stream ends, or does not. */
@Timeout(120)
@ResourceLock(Doubling.THREADS)
class StreamEndsTest {
  private static final long PATIENCE_SECONDS = 60;
  private static final ExecutionReport LATE =
      ExecutionReport.failed(ResultCode.MISSED_DEADLINE_TRANSIENT, "it was late");

  private static PushStream<Integer> stream(Doubling doubling) {
    return doubling.streams.stream(
        doubling.fake.compilation(), StreamOptions.DEFAULT, doubling.source, doubling.codec());
  }

  private static Sink run(Doubling doubling) {
    Sink sink = new Sink();
    stream(doubling).forEachEvent(sink);
    return sink;
  }

  private static ResultCode code(Throwable failure) {
    return ((NeuralNetworksException) failure).code();
  }

  @Test
  void nothingBeginsBeforeTheTerminalOperation() throws Exception {
    try (Doubling doubling = new Doubling()) {
      PushStream<Integer> stream = stream(doubling).map(number -> number + 1);
      assertEquals(0, doubling.source.opened.get());
      assertEquals(0, doubling.fake.openBursts.get());
      assertTrue(doubling.threadsBefore.containsAll(Doubling.threads()));
      Promise<Long> count = stream.count();
      assertEquals(1, doubling.source.opened.get());
      assertEquals(1, doubling.fake.openBursts.get());
      doubling.source.end();
      assertEquals(0, count.getValue());
      assertEquals(1, doubling.source.closed.get());
    }
  }

  @Test
  void anErrorOfTheSourceComesAfterAllResults() throws Exception {
    IOException reason = new IOException("the camera was unplugged");
    try (Doubling doubling = new Doubling()) {
      Sink sink = run(doubling);
      for (int i = 0; i < 10; i++) {
        doubling.source.push(i);
      }
      doubling.source.fail(reason);
      sink.expectNumbers(0, 9);
      assertSame(reason, sink.failure());
    }
  }

  @Test
  void aFrameThatFailsEndsTheStreamWithItsCode() throws Exception {
    try (Doubling doubling = new Doubling(number -> number == 5 ? LATE : Doubling.DONE)) {
      Sink sink = run(doubling);
      doubling.source.pushAll(100);
      sink.expectNumbers(0, 4);
      Throwable failure = sink.failure();
      assertEquals(ResultCode.MISSED_DEADLINE_TRANSIENT, code(failure));
      assertEquals("frame 5: it was late", failure.getMessage());
      Doubling.await("the source is closed", () -> doubling.source.closed.get() == 1);
    }
  }

  @Test
  void aCodecThatLooksAtTheReportGoesOn() throws Exception {
    try (Doubling doubling = new Doubling(number -> number % 3 == 0 ? LATE : Doubling.DONE)) {
      FrameCodec<Integer, Integer> plain = doubling.codec();
      FrameCodec<Integer, Integer> patient =
          FrameCodec.of(plain::write, frame -> frame.report().isSuccess() ? plain.read(frame) : -1);
      Sink sink = new Sink();
      doubling.streams.stream(
              doubling.fake.compilation(), StreamOptions.DEFAULT, doubling.source, patient)
          .forEachEvent(sink);
      doubling.source.pushAll(100);
      for (int i = 0; i < 100; i++) {
        assertEquals(i % 3 == 0 ? -1 : 2 * i, sink.number());
      }
      sink.expectClose();
    }
  }

  @Test
  void anExceptionOfTheCodecComesAfterTheResultsBeforeIt() throws Exception {
    IOException reason = new IOException("no number");
    for (boolean isWriter : new boolean[] {true, false}) {
      try (Doubling doubling = new Doubling()) {
        FrameCodec<Integer, Integer> plain = doubling.codec();
        FrameCodec<Integer, Integer> failing =
            FrameCodec.of(
                (number, frame) -> {
                  if (isWriter && number == 7) {
                    throw reason;
                  }
                  plain.write(number, frame);
                },
                frame -> {
                  if (!isWriter && frame.number() == 7) {
                    throw reason;
                  }
                  return plain.read(frame);
                });
        Sink sink = new Sink();
        doubling.streams.stream(
                doubling.fake.compilation(), StreamOptions.DEFAULT, doubling.source, failing)
            .forEachEvent(sink);
        doubling.source.pushAll(20).join();
        sink.expectNumbers(0, 6);
        assertSame(reason, sink.failure());
      }
    }
  }

  @Test
  void framesAreOutOfReachWhenTheyAreNotTheCodecs() throws Exception {
    AtomicReference<Frame> kept = new AtomicReference<>();
    List<Exception> refusals = new ArrayList<>();
    try (Doubling doubling = new Doubling()) {
      FrameCodec<Integer, Integer> curious =
          FrameCodec.of(
              (number, frame) -> {
                kept.set(frame);
                refusals.add(assertThrows(IllegalStateException.class, () -> frame.output(0)));
                refusals.add(assertThrows(IllegalStateException.class, frame::report));
                refusals.add(assertThrows(IllegalArgumentException.class, () -> frame.input(1)));
              },
              frame -> {
                refusals.add(assertThrows(IllegalStateException.class, () -> frame.input(0)));
                refusals.add(assertThrows(IllegalArgumentException.class, () -> frame.output(-1)));
                assertTrue(frame.output(0).isReadOnly());
                return 0;
              });
      Sink sink = new Sink();
      doubling.streams.stream(
              doubling.fake.compilation(), StreamOptions.DEFAULT, doubling.source, curious)
          .forEachEvent(sink);
      doubling.source.pushAll(1).join();
      assertEquals(0, sink.number());
      sink.expectClose();
      assertThrows(IllegalStateException.class, () -> kept.get().output(0));
      assertEquals(5, refusals.size());
    }
  }

  @Test
  void closingTheStreamFreesASourceThatWaits() throws Exception {
    CountDownLatch open = new CountDownLatch(1);
    try (Doubling doubling = new Doubling()) {
      Sink sink = new Sink();
      sink.answer =
          number -> {
            open.await();
            return PushEventConsumer.CONTINUE;
          };
      PushStream<Integer> stream = stream(doubling);
      stream.forEachEvent(sink);
      Thread source = doubling.source.pushAll(100);
      Doubling.await("the source waits", () -> source.getState() == Thread.State.WAITING);
      assertEquals(0, sink.number());
      stream.close();
      source.join();
      assertEquals(1, doubling.source.closed.get());
      assertEquals(3, doubling.written.get(), "it was not written any more");
      open.countDown();
      sink.expectClose();
    }
  }

  @Test
  void closingTheStreamDoesNotWaitForAnExecutionNorTakeItsMemory() throws Exception {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch open = new CountDownLatch(1);
    try (Doubling doubling =
        new Doubling(
            number -> {
              inside.countDown();
              assertTrue(open.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
              return Doubling.DONE;
            })) {
      PushStream<Integer> stream = stream(doubling);
      Sink sink = new Sink();
      stream.forEachEvent(sink);
      doubling.source.push(1);
      inside.await();
      stream.close();
      sink.expectClose();
      assertEquals(1, doubling.fake.openBursts.get());
      assertFalse(doubling.fake.isAllUnmapped());
      open.countDown();
      doubling.awaitNothingLeft();
      assertTrue(sink.events.isEmpty());
    }
  }

  /** A push stream would hide it; consumers of sources rely on it. */
  @Test
  void theEndComesOnceAndWhenTheLastDeliveryIsOver() throws Exception {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch open = new CountDownLatch(1);
    try (Doubling doubling = new Doubling()) {
      Sink sink = new Sink();
      sink.answer =
          number -> {
            inside.countDown();
            assertTrue(open.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
            assertEquals(1, sink.events.size(), "the end came during a delivery");
            return PushEventConsumer.CONTINUE;
          };
      Pipeline<Integer, Integer> pipeline =
          new Pipeline<>(
              doubling.fake.networks(),
              doubling.fake.compilation(),
              StreamOptions.DEFAULT,
              doubling.codec(),
              sink,
              task -> new Thread(task, "thalamus-stream-test"),
              ended -> {});
      pipeline.start(doubling.source);
      doubling.source.push(0);
      doubling.source.push(1);
      inside.await();
      pipeline.close();
      pipeline.close();
      open.countDown();
      sink.expectNumbers(0, 0);
      doubling.awaitNothingLeft();
      assertEquals(0, doubling.fake.openBursts.get());
      sink.expectClose();
    }
  }

  @Test
  void aConsumerThatWantsNoMoreEndsTheStream() throws Exception {
    try (Doubling doubling = new Doubling()) {
      Promise<Long> count = stream(doubling).limit(3).count();
      doubling.source.pushAll(1000).join();
      assertEquals(3, count.getValue());
      doubling.awaitNothingLeft();
      assertEquals(1, doubling.source.closed.get());
    }
  }

  @Test
  void aConsumerThatThrowsEndsTheStream() throws Exception {
    IOException reason = new IOException("the disk is full");
    try (Doubling doubling = new Doubling()) {
      Promise<Void> end =
          stream(doubling)
              .map(
                  number -> {
                    if (number == 6) {
                      throw reason;
                    }
                    return number;
                  })
              .forEach(number -> {});
      doubling.source.pushAll(1000).join();
      assertSame(reason, assertThrows(InvocationTargetException.class, end::getValue).getCause());
      doubling.awaitNothingLeft();
    }
  }

  @Test
  void aConsumerThatBreaksLeavesNothing() throws Exception {
    try (Doubling doubling = new Doubling()) {
      Promise<Void> end =
          stream(doubling)
              .forEach(
                  number -> {
                    throw new AssertionError("a test breaks its consumer");
                  });
      doubling.source.pushAll(1000).join();
      assertTrue(
          assertThrows(InvocationTargetException.class, end::getValue)
              .getCause()
              .getMessage()
              .contains("a thread of the stream broke"));
      doubling.awaitNothingLeft();
    }
  }

  @Test
  void aSourceThatIsInterruptedEndsTheStreamAndStaysInterrupted() throws Exception {
    CountDownLatch open = new CountDownLatch(1);
    AtomicReference<Boolean> stays = new AtomicReference<>();
    try (Doubling doubling = new Doubling()) {
      Sink sink = new Sink();
      sink.answer =
          number -> {
            open.await();
            return PushEventConsumer.CONTINUE;
          };
      stream(doubling).forEachEvent(sink);
      Thread source =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      int next = 0;
                      while (doubling.source.push(next) >= 0) {
                        next++;
                      }
                      stays.set(Thread.currentThread().isInterrupted());
                    } catch (Exception e) {
                      throw new IllegalStateException(e);
                    }
                  });
      Doubling.await("the source waits", () -> source.getState() == Thread.State.WAITING);
      source.interrupt();
      source.join();
      assertEquals(Boolean.TRUE, stays.get());
      open.countDown();
      sink.expectNumbers(0, 2);
      assertEquals(InterruptedException.class, sink.failure().getClass());
    }
  }

  @Test
  void aSourceThatCannotBeOpenedIsAnError() throws Exception {
    IOException reason = new IOException("there is no camera");
    try (Doubling doubling = new Doubling()) {
      PushEventSource<Integer> broken =
          consumer -> {
            throw reason;
          };
      Promise<Long> count =
          doubling.streams.stream(
                  doubling.fake.compilation(), StreamOptions.DEFAULT, broken, doubling.codec())
              .count();
      assertSame(reason, assertThrows(InvocationTargetException.class, count::getValue).getCause());
    }
  }

  @Test
  void aSourceThatPushesAllWhileItIsOpenedIsServed() throws Exception {
    try (Doubling doubling = new Doubling()) {
      PushEventSource<Integer> eager =
          consumer -> {
            for (int i = 0; i < 50; i++) {
              consumer.accept(PushEvent.data(i));
            }
            consumer.accept(PushEvent.close());
            return () -> {};
          };
      Promise<Integer> sum =
          doubling.streams.stream(
                  doubling.fake.compilation(), StreamOptions.DEFAULT, eager, doubling.codec())
              .reduce(0, Integer::sum);
      assertEquals(49 * 50, sum.getValue());
    }
  }

  @Test
  void aClosedCompilationIsAnErrorWhenItsStreamBeginsAndLater() throws Exception {
    try (Doubling doubling = new Doubling()) {
      Sink sink = run(doubling);
      doubling.source.push(0);
      sink.expectNumbers(0, 0);
      doubling.fake.isCompilationClosed = true;
      doubling.source.push(1);
      Throwable failure = sink.failure();
      assertEquals(ResultCode.BAD_STATE, code(failure));
      assertEquals("the compilation is closed: close its streams first", failure.getMessage());
      assertEquals(ResultCode.BAD_STATE, code(run(doubling).failure()));
    }
  }

  @Test
  void closingTheMakerEndsItsStreams() throws Exception {
    try (Doubling doubling = new Doubling()) {
      Sink first = run(doubling);
      doubling.source.push(0);
      Sink second = run(doubling);
      first.expectNumbers(0, 0);
      doubling.streams.close();
      assertTrue(doubling.threadsBefore.containsAll(Doubling.threads()), "its threads have ended");
      first.expectClose();
      second.expectClose();
      assertTrue(doubling.source.push(1) < 0);
      Throwable failure = run(doubling).failure();
      assertEquals(ResultCode.BAD_STATE, code(failure));
    }
  }

  @Test
  void openDimensionsAreNamedOrTheStreamSaysHow() throws Exception {
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape open = Shape.of(1, 0);
    int x = graph.input("x", OperandCode.TENSOR_FLOAT32, open, Quantization.NONE);
    int y = graph.output("y", OperandCode.TENSOR_FLOAT32, open, Quantization.NONE);
    graph.operation(OperationCode.ADD, List.of(x, x, graph.int32(0)), List.of(y));
    FakeNetworks fake =
        new FakeNetworks(
            graph.build(),
            (inputs, outputs) -> {
              outputs[0].set(Doubling.FLOAT, 0, inputs[0].get(Doubling.FLOAT, 8));
              return FakeNetworks.done(Shape.of(1, 2));
            });
    FrameCodec<Integer, String> reading =
        FrameCodec.of(
            (number, frame) -> frame.input(0).set(Doubling.FLOAT, 8, number),
            frame -> frame.output(0).byteSize() + " " + frame.output(0).get(Doubling.FLOAT, 0));
    try (BurstStreams streams = new BurstStreams(fake.networks())) {
      PushEventSource<Integer> one =
          consumer -> {
            consumer.accept(PushEvent.data(5));
            consumer.accept(PushEvent.close());
            return () -> {};
          };
      StreamOptions options = StreamOptions.DEFAULT;
      assertEquals(
          "input 0 has open dimensions: name them with withInputShape",
          failure(streams.stream(fake.compilation(), options, one, reading)).getMessage());
      StreamOptions shaped = options.withInputShape(0, Shape.of(1, 3));
      assertEquals(
          "output 0 has open dimensions: give it room with withOutputBytes",
          failure(streams.stream(fake.compilation(), shaped, one, reading)).getMessage());
      assertEquals(
          ResultCode.BAD_DATA,
          code(
              failure(
                  streams.stream(
                      fake.compilation(),
                      options.withInputShape(0, Shape.of(2, 3)),
                      one,
                      reading))));
      assertEquals(
          "8 5.0",
          streams.stream(fake.compilation(), shaped.withOutputBytes(0, 12), one, reading)
              .findFirst()
              .getValue()
              .orElseThrow());
    }
    Doubling.await("all is closed", () -> fake.openBursts.get() == 0 && fake.isAllUnmapped());
  }

  private static Throwable failure(PushStream<?> stream) throws InterruptedException {
    return stream.count().getFailure();
  }

  @Test
  void optionsAreChecked() {
    for (int depth : new int[] {-1, 0, 65}) {
      assertThrows(IllegalArgumentException.class, () -> StreamOptions.DEFAULT.withDepth(depth));
    }
    StreamOptions one = StreamOptions.DEFAULT.withState(1, 1);
    assertThrows(IllegalArgumentException.class, () -> one.withState(1, 2));
    assertThrows(IllegalArgumentException.class, () -> one.withState(2, 1));
    assertEquals(1, one.burst().depth(), "executions with states follow each other");
  }
}
