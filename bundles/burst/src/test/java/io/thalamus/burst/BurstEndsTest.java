// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/** Bursts end in any order and leave no thread and no mapping. Alone, since it counts both. */
@Isolated
@Timeout(120)
class BurstEndsTest {
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(20);
  private static final int ROUNDS = 100;

  private long mappings;

  @BeforeEach
  void count() throws IOException {
    mappings = mappings();
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    assertEquals(List.of(), threads());
    assertEquals(mappings, mappings());
  }

  private static List<String> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("burst-"))
        .toList();
  }

  /** Returns how many mappings of shared memory this process has; 0 where it cannot be seen. */
  private static long mappings() throws IOException {
    Path maps = Path.of("/proc/self/maps");
    if (!Files.isReadable(maps)) {
      return 0;
    }
    try (var lines = Files.lines(maps)) {
      return lines.filter(line -> line.contains("/thalamus-")).count();
    }
  }

  @Test
  void aServiceThatNobodyUsesStartsNothing() {
    QueueBurstService service = new QueueBurstService();
    assertEquals(List.of(), threads());
    service.close();
  }

  @Test
  void aBurstThatItsCallerServesStartsNoThread() throws Exception {
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
        QueueBurstService service = new QueueBurstService();
        BurstClient client = service.open(new Doubler(), BurstFixture.settings(2, 1, true))) {
      for (int i = 0; i < 100; i++) {
        assertTrue(client.send(Doubler.request(memory, 0, memory, 8), ExecutionConfig.DEFAULT));
        assertEquals(ErrorStatus.NONE, client.receive(PATIENCE).status());
      }
      assertEquals(new BurstStatistics(100, 100, 1), client.statistics());
      assertEquals(List.of("burst-owners"), threads());
    }
  }

  @Test
  void closingTheServiceLeavesNothing() throws Exception {
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
        QueueBurstService service = new QueueBurstService()) {
      for (int i = 0; i < 8; i++) {
        BurstClient client = service.open(new Doubler(), BurstFixture.settings(1 + i % 2, 2));
        assertTrue(client.send(Doubler.request(memory, 0, memory, 8), ExecutionConfig.DEFAULT));
        if (i % 3 > 0) {
          assertEquals(ErrorStatus.NONE, client.receive(PATIENCE).status());
        }
        if (i % 4 == 0) {
          client.close();
        }
      }
      assertTrue(mappings() > mappings || mappings == 0);
      assertTrue(threads().size() > 6, threads()::toString);
    }
  }

  @Test
  void aBurstThatItsOwnerForgotEnds() throws Exception {
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
        QueueBurstService service = new QueueBurstService()) {
      long before = mappings();
      forget(service, memory);
      for (int i = 0; i < 1000 && (mappings() > before || threads().size() > 1); i++) {
        System.gc();
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
      }
      assertEquals(List.of("burst-owners"), threads());
      assertEquals(before, mappings());
      assertEquals(64, memory.size());
    }
  }

  /** Opens a burst, uses it and keeps nothing of it. */
  private static void forget(QueueBurstService service, SharedMemory memory) throws Exception {
    BurstClient client = service.open(new Doubler(), BurstFixture.settings(2, 1));
    assertTrue(client.send(Doubler.request(memory, 0, memory, 8), ExecutionConfig.DEFAULT));
    assertEquals(ErrorStatus.NONE, client.receive(PATIENCE).status());
  }

  @Test
  void clientsServersMemoriesAndServicesCloseInAnyOrder() throws Exception {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("closing in any order: seed " + seed);
    SplittableRandom random = new SplittableRandom(seed);
    try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
      for (int round = 0; round < ROUNDS; round++) {
        close(threads, random.split());
      }
    }
  }

  private static void close(ExecutorService threads, SplittableRandom random) throws Exception {
    SharedMemory in = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
    SharedMemory out = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
    QueueBurstService service = new QueueBurstService();
    QueueBurstService drivers = new QueueBurstService();
    BurstContext[] server = new BurstContext[1];
    Doubler model =
        new Doubler() {
          @Override
          public BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
            server[0] = drivers.serve(config, this);
            return server[0];
          }
        };
    int version = random.nextInt(1, 3);
    BurstClient client =
        service.open(
            model, BurstFixture.settings(version, random.nextInt(1, 4), random.nextInt(2) == 0));
    List<Runnable> closers =
        new ArrayList<>(
            List.of(
                client::close,
                server[0]::close,
                in::close,
                out::close,
                service::close,
                drivers::close));
    List<Future<?>> running = new ArrayList<>();
    running.add(threads.submit(() -> execute(client, in, out)));
    for (int thread = 0; thread < 2; thread++) {
      List<Runnable> some = new ArrayList<>();
      for (int i = random.nextInt(1, 4); i > 0 && !closers.isEmpty(); i--) {
        some.add(closers.remove(random.nextInt(closers.size())));
      }
      long pause = random.nextLong(1_000_000);
      running.add(
          threads.submit(
              () -> {
                for (Runnable closer : some) {
                  LockSupport.parkNanos(pause);
                  closer.run();
                }
              }));
    }
    for (Future<?> future : running) {
      future.get(60, TimeUnit.SECONDS);
    }
    closers.forEach(Runnable::run);
    in.close();
    out.close();
  }

  /** Executes until it cannot. */
  private static void execute(BurstClient client, SharedMemory in, SharedMemory out) {
    for (int i = 0; i < 2000; i++) {
      if (!client.send(Doubler.request(in, 0, out, 0), ExecutionConfig.DEFAULT)) {
        break;
      }
      ExecutionResult result = client.receive(PATIENCE);
      assertTrue(
          result.status() == ErrorStatus.NONE
              || result.status() == ErrorStatus.DEVICE_UNAVAILABLE
              || result.status() == ErrorStatus.INVALID_ARGUMENT,
          result::toString);
    }
    assertEquals(0, client.underWay());
  }
}
