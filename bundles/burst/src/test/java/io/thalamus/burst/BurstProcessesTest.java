// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.burst.packet.ControlPage;
import io.thalamus.hal.BurstCallback;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstConfig.Version2;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryHandle;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A burst whose server is another process: memory by its file, slots asked for through a pipe. */
class BurstProcessesTest {
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(60);

  /** A model whose burst is served by a new process. */
  private static final class Remote extends Doubler {
    private Process child;
    private Version2 protocol;

    @Override
    public BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
      protocol = (Version2) config.protocol();
      try {
        child =
            JavaProcess.of(
                    JavaProcess.nativeAccess(true),
                    Child.class,
                    describe(config.requestChannel().memory()),
                    describe(config.resultChannel().memory()),
                    describe(protocol.control()),
                    config.requestChannel().capacity())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader asked = child.inputReader(StandardCharsets.UTF_8);
        if (!"ready".equals(asked.readLine())) {
          throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "the other process does not run");
        }
        PrintStream answers =
            new PrintStream(child.getOutputStream(), true, StandardCharsets.UTF_8);
        Thread.ofVirtual()
            .start(() -> asked.lines().forEach(line -> answer(line, config, answers)));
        return new BurstContext() {
          @Override
          public void freeMemory(int slot) {
            answers.println("free " + slot);
          }

          @Override
          public void close() {
            answers.close();
            child.onExit().join();
          }
        };
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private static void answer(String line, BurstConfig config, PrintStream answers) {
      int[] slots = Arrays.stream(line.split(" ")).mapToInt(Integer::parseInt).toArray();
      try {
        StringBuilder answer = new StringBuilder("memories");
        for (SharedMemory memory : config.callback().getMemories(slots)) {
          answer.append(' ').append(describe(memory));
        }
        answers.println(answer);
      } catch (DeviceException e) {
        answers.println("memories");
      }
    }

    private static String describe(SharedMemory memory) {
      return memory.describe().file() + ":" + memory.size();
    }
  }

  /** The other process. */
  static final class Child {
    public static void main(String[] args) throws Exception {
      BlockingQueue<String> answers = new ArrayBlockingQueue<>(1);
      BurstCallback callback =
          slots -> {
            StringBuilder line = new StringBuilder();
            for (int slot : slots) {
              line.append(slot).append(' ');
            }
            System.out.println(line.toString().strip());
            List<SharedMemory> memories = new ArrayList<>();
            String[] words = take(answers).split(" ");
            for (int i = 1; i < words.length; i++) {
              memories.add(map(words[i]));
            }
            return memories;
          };
      int capacity = Integer.parseInt(args[3]);
      try (SharedMemory requests = map(args[0]);
          SharedMemory results = map(args[1]);
          SharedMemory page = map(args[2]);
          QueueBurstService service = new QueueBurstService();
          BurstContext server =
              service.serve(
                  new BurstConfig(
                      callback,
                      new QueueDescriptor(requests, capacity, 24),
                      new QueueDescriptor(results, capacity, 24),
                      new Version2(page, token -> null),
                      Duration.ofNanos(20_000)),
                  new DeadlineTeller())) {
        System.out.println("ready");
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          if (line.startsWith("free ")) {
            server.freeMemory(Integer.parseInt(line.substring(5)));
          } else {
            answers.add(line);
          }
        }
      }
    }

    private static String take(BlockingQueue<String> answers) {
      try {
        return answers.take();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    private static SharedMemory map(String place) {
      int colon = place.lastIndexOf(':');
      long size = Long.parseLong(place.substring(colon + 1));
      Path file = Path.of(place.substring(0, colon));
      return SharedMemory.map(new SharedMemoryHandle(MemoryKind.ASHMEM, file, 0, size, true));
    }
  }

  /** Answers with the seconds that are left, where there is a deadline. */
  private static final class DeadlineTeller extends Doubler {
    @Override
    public ExecutionResult execute(Request wanted, ExecutionConfig config) {
      if (!config.deadline().isSet()) {
        return super.execute(wanted, config);
      }
      Shape left = Shape.of((int) config.deadline().remaining().toSeconds());
      return new Completed(List.of(new OutputShape(left, true)), Timing.NONE);
    }
  }

  @Test
  @Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void anotherProcessServesUntilItIsKilled() throws Exception {
    Remote remote = new Remote();
    try (QueueBurstService service = new QueueBurstService();
        SharedMemory in = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
        SharedMemory out = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
        BurstClient client = service.open(remote, BurstFixture.settings(2, 2))) {
      assertTrue(client.isServedByDriver());
      for (int i = 0; i < 2000; i++) {
        in.segment().set(ValueLayout.JAVA_INT, 4, i);
        assertTrue(client.send(Doubler.request(in, 4, out, 8), ExecutionConfig.DEFAULT));
        assertEquals(Doubler.DONE, client.receive(PATIENCE));
        assertEquals(2 * i, out.segment().get(ValueLayout.JAVA_INT, 8));
      }
      client.freeMemory(out);
      assertTrue(client.send(Doubler.request(in, 4, in, 8), ExecutionConfig.DEFAULT));
      assertEquals(Doubler.DONE, client.receive(PATIENCE));
      assertEquals(new BurstStatistics(2001, 2001, 2), client.statistics());

      ExecutionConfig late = ExecutionConfig.DEFAULT.with(Deadline.after(Duration.ofHours(1)));
      assertTrue(client.send(Doubler.request(in, 4, in, 8), late));
      Completed told = (Completed) client.receive(PATIENCE);
      int seconds = told.outputs().get(0).shape().dimension(0);
      assertTrue(seconds > 3000 && seconds < 3600, seconds + " s are left of an hour");

      remote.child.destroyForcibly().onExit().join();
      assertTrue(client.send(Doubler.request(in, 4, in, 8), ExecutionConfig.DEFAULT));
      ControlPage.of(remote.protocol.control()).end();
      assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, client.receive(PATIENCE).status());
      assertTrue(client.isBroken());
      assertFalse(client.send(Doubler.request(in, 4, in, 8), ExecutionConfig.DEFAULT));
    }
  }
}
