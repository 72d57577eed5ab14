// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class BurstClientTest extends BurstFixture {
  /** A model that serves bursts itself, of some versions, and says who serves and with what. */
  private class Driver extends Doubler implements BurstExecutor {
    private final int versions;
    private final Map<Integer, SharedMemory> entries = new HashMap<>();
    private final List<String> calls = new ArrayList<>();
    private int[] lastSlots = new int[0];

    /** The highest version that it knows; 0 for none. */
    Driver(int versions) {
      this.versions = versions;
    }

    @Override
    public BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
      int version = config.protocol() instanceof BurstConfig.Version2 ? 2 : 1;
      calls.add("version " + version);
      if (version > versions) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "unknown version");
      }
      return service.serve(config, (BurstExecutor) this);
    }

    @Override
    public boolean isCacheEntryPresent(int slot) {
      return entries.containsKey(slot);
    }

    @Override
    public void addCacheEntry(SharedMemory memory, int slot) {
      calls.add("add " + slot);
      entries.put(slot, memory);
    }

    @Override
    public void removeCacheEntry(int slot) {
      calls.add("remove " + slot);
      entries.remove(slot);
    }

    @Override
    public void ended() {
      calls.add("ended");
    }

    @Override
    public ExecutionResult execute(Request wanted, int[] slots, ExecutionConfig config) {
      lastSlots = slots;
      return execute(wanted, config);
    }
  }

  @Test
  void aDriverThatServesIsPreferredAndKeepsMemories() throws Exception {
    Driver driver = new Driver(2);
    try (BurstClient client = service.open(driver, settings(2, 1))) {
      assertTrue(client.isServedByDriver());
      for (int i = 0; i < 3; i++) {
        assertEquals(ErrorStatus.NONE, execute(client, request));
      }
      assertEquals(List.of("version 2", "add 0", "add 1"), driver.calls);
      assertEquals(2, driver.lastSlots.length);
    }
    assertEquals(
        List.of("version 2", "add 0", "add 1", "remove 0", "remove 1", "ended"),
        driver.calls,
        "nothing is kept behind the end");
  }

  @Test
  void olderDriversAreOfferedTheirVersion() throws Exception {
    Driver driver = new Driver(1);
    try (BurstClient client = service.open(driver, settings(2, 4))) {
      assertTrue(client.isServedByDriver());
      assertTrue(client.send(request, ExecutionConfig.DEFAULT));
      assertFalse(
          client.send(request, ExecutionConfig.DEFAULT), "version 1 has one request under way");
      assertEquals(ErrorStatus.NONE, client.receive(PATIENCE).status());
    }
    assertEquals(List.of("version 2", "version 1"), driver.calls.subList(0, 2));
    Driver none = new Driver(0);
    try (BurstClient client = service.open(none, settings(2, 1))) {
      assertFalse(client.isServedByDriver());
      assertEquals(ErrorStatus.NONE, execute(client, request));
    }
  }

  @Test
  void aClosedMemoryIsLetGoAtOnceAndItsSlotUsedAgain() throws Exception {
    Driver driver = new Driver(2);
    try (BurstClient client = service.open(driver, settings(2, 1))) {
      for (int i = 0; i < 5; i++) {
        SharedMemory own = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
        own.segment().set(ValueLayout.JAVA_INT, 0, i);
        assertEquals(ErrorStatus.NONE, execute(client, Doubler.request(own, 0, out, 0)));
        assertEquals(2 * i, out.segment().get(ValueLayout.JAVA_INT, 0));
        own.close();
        assertThrows(IllegalStateException.class, own::lend, "it is unmapped");
        assertFalse(
            client.send(Doubler.request(own, 0, out, 0), ExecutionConfig.DEFAULT),
            "whoever executes it synchronously says why");
      }
      assertEquals(0, client.underWay());
      assertTrue(driver.calls.contains("remove 0"), driver.calls::toString);
      assertFalse(driver.calls.contains("add 2"), driver.calls::toString);
    }
  }

  @Test
  void aMemoryThatIsFreedWhileItIsUsedStaysUntilTheResult() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    Driver driver =
        new Driver(2) {
          @Override
          public ExecutionResult execute(Request wanted, ExecutionConfig config) {
            begun.countDown();
            try {
              go.await();
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
            return super.execute(wanted, config);
          }
        };
    try (BurstClient client = service.open(driver, settings(2, 1))) {
      SharedMemory own = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
      assertTrue(client.send(Doubler.request(own, 0, out, 0), ExecutionConfig.DEFAULT));
      begun.await();
      client.freeMemory(own);
      own.close();
      assertEquals(0, own.segment().get(ValueLayout.JAVA_INT, 0));
      assertNull(client.receive(0));
      go.countDown();
      assertEquals(ErrorStatus.NONE, client.receive(PATIENCE).status());
      assertThrows(IllegalStateException.class, own::lend, "it is unmapped");
    }
  }

  @Test
  void aRequestThatIsNotSentKeepsNoMemory() throws Exception {
    SharedMemory closed = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
    closed.close();
    SharedMemory leaving = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
    try (BurstClient client = service.open(new Doubler(), settings(2, 1))) {
      SharedMemory.Lease lease = leaving.lend();
      leaving.close();
      assertFalse(client.send(Doubler.request(leaving, 0, closed, 0), ExecutionConfig.DEFAULT));
      lease.close();
      assertThrows(IllegalStateException.class, leaving::lend, "it is unmapped");
    }
  }

  @Test
  void buffersTravelAsTokensThatOnlyTheirClientCanName() throws Exception {
    Buffer buffer = new Buffer();
    List<DeviceBuffer> seen = new ArrayList<>();
    Doubler model =
        new Doubler() {
          @Override
          public ExecutionResult execute(Request wanted, ExecutionConfig config) {
            seen.add(((MemoryPool.Device) wanted.pools().get(0)).buffer());
            return DONE;
          }
        };
    Request wanted =
        new Request(
            List.of(new Location(0, 0, 0, Shape.NONE)),
            List.of(),
            List.of(new MemoryPool.Device(buffer)));
    BurstSettings owner =
        new BurstSettings(
            1, Duration.ZERO, 64, 2, token -> token == buffer.token() ? buffer : null);
    try (BurstClient client = service.open(model, owner);
        BurstClient stranger = service.open(model, settings(2, 1))) {
      assertEquals(ErrorStatus.NONE, execute(client, wanted));
      assertSame(buffer, seen.get(0));
      assertEquals(ErrorStatus.INVALID_ARGUMENT, execute(stranger, wanted));
      assertEquals(1, seen.size());
    }
  }

  private static final class Buffer implements DeviceBuffer {
    @Override
    public int token() {
      return 0x7777;
    }

    @Override
    public void copyTo(SharedMemory destination) {
      throw new AssertionError("nothing is copied");
    }

    @Override
    public void copyFrom(SharedMemory source, Shape shape) {
      throw new AssertionError("nothing is copied");
    }

    @Override
    public void close() {
      // It holds nothing.
    }
  }

  @Test
  void cancellingStopsTheOldestRequestAlone() throws Exception {
    Endless model = new Endless();
    try (BurstClient client = service.open(model, settings(2, 3))) {
      client.cancel();
      assertTrue(client.send(request, ExecutionConfig.DEFAULT));
      assertTrue(
          client.send(
              request, ExecutionConfig.DEFAULT.with(Deadline.after(Duration.ofMillis(300)))));
      model.begun.await();
      assertNull(client.receive(0));
      client.cancel();
      assertEquals("CANCELLED", message(client.receive(PATIENCE)));
      assertEquals("DEADLINE", message(client.receive(PATIENCE)));
      assertEquals(2, model.executions);
    }
  }

  @Test
  void closingStopsWhatIsUnderWay() throws Exception {
    Endless model = new Endless();
    BurstClient client = service.open(model, settings(2, 2));
    assertTrue(client.send(request, ExecutionConfig.DEFAULT));
    assertTrue(client.send(request, ExecutionConfig.DEFAULT));
    model.begun.await();
    client.close();
    assertTrue(client.isBroken());
    for (int i = 0; i < 2; i++) {
      assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, client.receive(PATIENCE).status());
    }
    assertNull(client.receive(PATIENCE), "nothing is under way");
    assertFalse(client.send(request, ExecutionConfig.DEFAULT));
    client.cancel();
    client.freeMemory(in);
    assertEquals(1, client.statistics().executions());
    client.close();
  }

  @Test
  void aServerThatEndsIsNoticed() throws Exception {
    for (int version = 1; version <= 2; version++) {
      BurstContext[] server = new BurstContext[1];
      Driver driver =
          new Driver(2) {
            @Override
            public BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
              server[0] = super.configureExecutionBurst(config);
              return server[0];
            }

            @Override
            public ExecutionResult execute(Request wanted, ExecutionConfig config) {
              // The last answer still comes.
              Thread.ofVirtual().start(server[0]::close);
              while (config.control().checkpoint() == Signal.CONTINUE) {
                Thread.onSpinWait();
              }
              return DONE;
            }
          };
      try (BurstClient client = service.open(driver, settings(version, 2))) {
        assertTrue(client.send(request, ExecutionConfig.DEFAULT));
        ExecutionResult last = client.receive(PATIENCE);
        assertTrue(
            last.status() == ErrorStatus.NONE || last.status() == ErrorStatus.DEVICE_UNAVAILABLE);
        while (client.send(request, ExecutionConfig.DEFAULT)) {
          assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, client.receive(PATIENCE).status());
        }
        assertTrue(client.isBroken());
        assertEquals(0, client.underWay());
      }
    }
  }

  @Test
  void theServiceEndsAllThatItMade() throws Exception {
    BurstClient client = service.open(new Doubler(), settings(2, 1));
    assertEquals(ErrorStatus.NONE, execute(client, request));
    service.close();
    assertTrue(client.isBroken());
    DeviceException refusal =
        assertThrows(DeviceException.class, () -> service.open(new Doubler(), settings(2, 1)));
    assertEquals(ErrorStatus.GENERAL_FAILURE, refusal.status());
  }

  @Test
  void aRequestThatTheQueueDoesNotHoldIsNotSent() throws Exception {
    Shape large = Shape.of(new int[64]);
    Request long64 =
        new Request(
            List.of(new Location(0, 0, 4, large)), List.of(), List.of(new MemoryPool.Shared(in)));
    AtomicInteger count = new AtomicInteger();
    Doubler model =
        new Doubler() {
          @Override
          public ExecutionResult execute(Request wanted, ExecutionConfig config) {
            count.incrementAndGet();
            return DONE;
          }
        };
    try (BurstClient client = service.open(model, settings(2, 1))) {
      assertFalse(client.send(long64, ExecutionConfig.DEFAULT));
      assertEquals(0, client.underWay());
      assertEquals(ErrorStatus.NONE, execute(client, request));
      assertEquals(1, count.get());
    }
  }
}
