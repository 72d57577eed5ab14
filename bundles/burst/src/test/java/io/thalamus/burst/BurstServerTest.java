// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.burst.packet.ControlPage;
import io.thalamus.burst.packet.Datums;
import io.thalamus.burst.packet.ResultDecoder;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class BurstServerTest {
  private final QueueBurstService service = new QueueBurstService();
  private final SharedMemory in = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
  private final SharedMemory out = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
  private final Request request = Doubler.request(in, 4, out, 8);

  /** Of results. */
  private int elementsRead;

  @AfterEach
  void close() {
    service.close();
    in.close();
    out.close();
  }

  private RawClient client(int version, int resultLength) {
    RawClient client = new RawClient(version, resultLength);
    client.memories.put(3, in);
    client.memories.put(70_000, out);
    return client;
  }

  /** VTS's mutations of a packet: each element removed, each bad one inserted or in its place. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void malformedPacketsAreAnsweredAndTheNextIsServed(int version) throws Exception {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("malformed packets: seed " + seed);
    SplittableRandom random = new SplittableRandom(seed);
    Doubler model = new Doubler();
    try (RawClient client = client(version, 64);
        BurstContext server = service.serve(client.config(), model)) {
      List<Datums> bad = mutations(client.packet(request, 3, 70_000));
      int valid = 0;
      for (Datums packet : bad) {
        client.send(packet);
        Failed failed = assertInstanceOf(Failed.class, client.receive(), packet::toString);
        assertTrue(
            failed.status() == ErrorStatus.GENERAL_FAILURE
                || failed.status() == ErrorStatus.INVALID_ARGUMENT);
        if (random.nextInt(4) == 0) {
          valid++;
          in.segment().set(ValueLayout.JAVA_INT, 4, valid);
          client.send(client.packet(request, 3, 70_000));
          assertEquals(Doubler.DONE.outputs(), assertCompleted(client.receive()).outputs());
          assertEquals(2 * valid, out.segment().get(ValueLayout.JAVA_INT, 8));
        }
      }
      assertEquals(valid, model.executions, "no bad packet is executed");
      assertEquals(
          new BurstStatistics(bad.size() + valid, valid, 2),
          assertInstanceOf(BurstServer.class, server).statistics());
    }
  }

  private static ExecutionResult.Completed assertCompleted(ExecutionResult result) {
    return assertInstanceOf(ExecutionResult.Completed.class, result);
  }

  /** All of VTS's mutations of one packet. */
  private static List<Datums> mutations(Datums good) {
    byte[] whole = bytes(good);
    List<byte[]> bad = new ArrayList<>();
    bad.add(element(0, 10, 10, 10, 10));
    bad.add(element(1, 0, 0, 0, 0, 10));
    bad.add(element(2, 0));
    bad.add(element(3, 0, 0, 0, 0, 10));
    bad.add(element(4, 0));
    bad.add(element(5, Integer.MAX_VALUE));
    bad.add(element(6, 1));
    List<Datums> mutations = new ArrayList<>();
    for (int at = 0; at <= whole.length; at += 24) {
      boolean isEnd = at == whole.length;
      if (!isEnd) {
        mutations.add(spliced(whole, at, new byte[0], 24));
      }
      for (byte[] element : bad) {
        mutations.add(spliced(whole, at, element, 0));
        if (!isEnd && !Arrays.equals(element, 0, 24, whole, at, at + 24)) {
          mutations.add(spliced(whole, at, element, 24));
        }
      }
    }
    return mutations;
  }

  private static byte[] bytes(Datums packet) {
    return packet.segment().asSlice(0, packet.count() * 24L).toArray(ValueLayout.JAVA_BYTE);
  }

  private static byte[] element(int tag, int... values) {
    byte[] bytes = new byte[24];
    bytes[0] = (byte) tag;
    MemorySegment.copy(
        values, 0, MemorySegment.ofArray(bytes), ValueLayout.JAVA_INT_UNALIGNED, 4, values.length);
    return bytes;
  }

  private static Datums spliced(byte[] whole, int at, byte[] inserted, int removed) {
    byte[] bytes = new byte[whole.length + inserted.length - removed];
    System.arraycopy(whole, 0, bytes, 0, at);
    System.arraycopy(inserted, 0, bytes, at, inserted.length);
    System.arraycopy(whole, at + removed, bytes, at + inserted.length, whole.length - at - removed);
    Datums packet = new Datums();
    packet.resize(bytes.length / 24);
    MemorySegment.copy(bytes, 0, packet.segment(), ValueLayout.JAVA_BYTE, 0, bytes.length);
    return packet;
  }

  /** In version 2 the page says where packets end, whatever stands in them. */
  @Test
  void packetsBehindAMalformedOneAreFound() throws Exception {
    Doubler model = new Doubler();
    try (RawClient client = client(2, 64)) {
      ControlPage page = ControlPage.of(client.page);
      int end = 0;
      for (int lie : new int[] {0, 2, 7, 9, 14, Integer.MAX_VALUE, -1}) {
        byte[] good = bytes(client.packet(request, 3, 70_000));
        byte[] bad = good.clone();
        MemorySegment.ofArray(bad).set(ValueLayout.JAVA_INT_UNALIGNED, 4, lie);
        byte[] both = Arrays.copyOf(bad, bad.length + good.length);
        System.arraycopy(good, 0, both, bad.length, good.length);
        int number = 2 * end / (both.length / 24) + 1;
        page.setRequestEnd(number, end + bad.length / 24);
        end += both.length / 24;
        page.setRequestEnd(number + 1, end);
        client.send(spliced(both, 0, new byte[0], 0));
      }
      // Nothing was read before: what the server finds is all there.
      try (BurstContext server = service.serve(client.config(), model)) {
        for (int i = 0; i < 7; i++) {
          assertEquals(ErrorStatus.GENERAL_FAILURE, one(client, page, 2 * i + 1).status());
          assertCompleted(one(client, page, 2 * i + 2));
        }
        assertEquals(7, model.executions);
        server.freeMemory(3);
      }
    }
  }

  /** Reads one result, by its end. */
  private ExecutionResult one(RawClient client, ControlPage page, int number) {
    assertTrue(client.results.awaitReadable(2, 0, BurstFixture.PATIENCE));
    Datums packet = new Datums();
    packet.resize(page.resultLength(number, elementsRead, client.results.availableToRead()));
    elementsRead += packet.count();
    assertTrue(client.results.read(packet.segment(), packet.count()));
    return new ResultDecoder(2).decode(packet);
  }

  @Test
  void unknownSlotsAreFetchedByOneCallAndOnce() throws Exception {
    try (RawClient client = client(1, 64);
        BurstContext server = service.serve(client.config(), new Doubler())) {
      for (int i = 0; i < 3; i++) {
        client.send(client.packet(request, 3, 70_000));
        assertCompleted(client.receive());
      }
      assertEquals(List.of("[3, 70000]"), client.asked);
      server.freeMemory(3);
      server.freeMemory(12);
      client.send(client.packet(request, 3, 70_000));
      assertCompleted(client.receive());
      Request twice = Doubler.request(in, 4, in, 8);
      client.send(client.packet(twice, 3, 3));
      assertCompleted(client.receive());
      assertEquals(List.of("[3, 70000]", "[3]"), client.asked);
    }
  }

  @Test
  void aSlotWithoutMemoryIsAnInvalidArgument() throws Exception {
    Doubler model = new Doubler();
    try (RawClient client = client(2, 64);
        BurstContext server = service.serve(client.config(), model)) {
      client.send(client.packet(request, 3, 70_000));
      assertCompleted(client.receive());
      for (int i = 0; i < 2; i++) {
        client.send(client.packet(request, 3, -4));
        Failed failed = assertInstanceOf(Failed.class, client.receive());
        assertEquals(ErrorStatus.INVALID_ARGUMENT, failed.status());
        assertTrue(failed.message().contains("-4"), failed.message());
      }
      assertEquals(1, model.executions);
      client.memories.put(-4, out);
      client.send(client.packet(request, 3, -4));
      assertCompleted(client.receive());
      server.freeMemory(-4);
    }
  }

  @Test
  void equalPacketsGiveTheSameRequest() throws Exception {
    Doubler model = new Doubler();
    Request other = Doubler.request(in, 8, out, 8);
    try (RawClient client = client(1, 64);
        BurstContext server = service.serve(client.config(), model)) {
      client.send(client.packet(request, 3, 70_000));
      assertCompleted(client.receive());
      Request first = model.last;
      assertEquals(request, first);
      client.send(client.packet(other, 3, 70_000));
      assertCompleted(client.receive());
      assertEquals(other, model.last);
      client.send(client.packet(request, 3, 70_000));
      assertCompleted(client.receive());
      assertSame(first, model.last, "requests that take turns are remembered");
      server.freeMemory(3);
      client.memories.put(3, out);
      client.send(client.packet(request, 3, 70_000));
      assertCompleted(client.receive());
      assertNotSame(first, model.last);
      assertEquals(Doubler.request(out, 4, out, 8), model.last);
    }
  }

  @Test
  void aResultThatDoesNotFitIsAFailureOfTwoElements() throws Exception {
    try (RawClient client = client(1, 2);
        BurstContext server = service.serve(client.config(), new Doubler())) {
      for (int i = 0; i < 3; i++) {
        client.send(client.packet(request, 3, 70_000));
        Datums answer = client.read();
        assertEquals(2, answer.count());
        Failed failed = assertInstanceOf(Failed.class, new ResultDecoder(1).decode(answer));
        assertEquals(ErrorStatus.GENERAL_FAILURE, failed.status());
      }
      server.freeMemory(3);
    }
  }

  @Test
  void theUnusedBytesOfResultsAreZero() throws Exception {
    try (RawClient client = client(1, 64);
        BurstContext server = service.serve(client.config(), new Doubler())) {
      client.results.segment().asSlice(client.results.offset(0), 24 * 64).fill((byte) 0x5A);
      client.send(client.packet(request, 3, 70_000));
      byte[] answer = bytes(client.read());
      byte[] expected = new byte[4 * 24];
      MemorySegment all = MemorySegment.ofArray(expected);
      all.set(ValueLayout.JAVA_INT_UNALIGNED, 8, 4);
      all.set(ValueLayout.JAVA_INT_UNALIGNED, 16, 1);
      expected[24] = 1;
      expected[32] = 1;
      all.set(ValueLayout.JAVA_INT_UNALIGNED, 36, 1);
      expected[48] = 2;
      all.set(ValueLayout.JAVA_INT_UNALIGNED, 56, 1);
      expected[72] = 3;
      all.set(ValueLayout.JAVA_LONG_UNALIGNED, 80, -1);
      all.set(ValueLayout.JAVA_LONG_UNALIGNED, 88, -1);
      assertArrayEquals(expected, answer);
      server.freeMemory(3);
    }
  }

  @Test
  void memoryIsFreedAfterTheExecutionThatUsesIt() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    Doubler model =
        new Doubler() {
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
    try (RawClient client = client(1, 64);
        BurstContext server = service.serve(client.config(), model)) {
      SharedMemory own = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
      client.memories.put(9, own);
      client.send(client.packet(Doubler.request(own, 0, out, 0), 9, 70_000));
      begun.await();
      own.close();
      server.freeMemory(9);
      assertEquals(0, own.segment().get(ValueLayout.JAVA_INT, 0), "it is mapped while it is used");
      go.countDown();
      assertCompleted(client.receive());
      client.memories.remove(9);
      client.send(client.packet(Doubler.request(own, 0, out, 0), 9, 70_000));
      assertEquals(ErrorStatus.INVALID_ARGUMENT, client.receive().status());
      assertThrows(IllegalStateException.class, own::lend, "nobody has it mapped any more");
    }
  }

  @Test
  void aClientThatCannotGiveItsMemoriesHasItsReasonInTheResult() throws Exception {
    try (RawClient client = client(2, 64);
        BurstContext _ = service.serve(client.config(), new Doubler())) {
      client.send(client.packet(request, 9, 70_000));
      Failed failed = assertInstanceOf(Failed.class, client.receive());
      assertTrue(failed.message().contains("no slot 9"), failed::message);
      client.memories.put(9, in);
      client.send(client.packet(request, 9, 70_000));
      assertCompleted(client.receive());
    }
  }

  @Test
  void anEndOfTheServerIsWritten() throws Exception {
    try (RawClient client = client(1, 64)) {
      service.serve(client.config(), new Doubler()).close();
      Datums end = client.read();
      assertEquals(1, end.count());
      assertTrue(ResultDecoder.isEnd(end));
    }
  }

  @Test
  void whatIsNoChannelIsRefused() {
    try (RawClient client = client(2, 64)) {
      QueueDescriptor good = client.config().requestChannel();
      QueueDescriptor wrongSize = new QueueDescriptor(good.memory(), good.capacity(), 32);
      QueueDescriptor noQueue = new QueueDescriptor(in, 64, 24);
      QueueDescriptor tooShort = new QueueDescriptor(good.memory(), 1, 24);
      for (QueueDescriptor bad : List.of(wrongSize, noQueue, tooShort)) {
        assertRefused(client, good, bad, client.page);
        assertRefused(client, bad, good, client.page);
      }
      assertRefused(client, good, client.config().resultChannel(), in);
    }
  }

  private void assertRefused(
      RawClient client, QueueDescriptor requests, QueueDescriptor results, SharedMemory page) {
    BurstConfig config =
        new BurstConfig(
            client,
            requests,
            results,
            new BurstConfig.Version2(page, token -> null),
            BurstConfig.DEFAULT_POLL_WINDOW);
    DeviceException refusal =
        assertThrows(DeviceException.class, () -> service.serve(config, new Doubler()));
    assertEquals(ErrorStatus.INVALID_ARGUMENT, refusal.status(), refusal.getMessage());
  }
}
