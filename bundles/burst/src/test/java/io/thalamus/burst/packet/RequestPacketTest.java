// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.packet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The bytes of FmqRequestDatum, from AOSP's list of fields and the rules of a C++ compiler. */
class RequestPacketTest {
  private static final ExecutionConfig TIMED = ExecutionConfig.DEFAULT.withMeasureTiming(true);

  private final SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 64);

  /** Two inputs, of which the second has no value, one output with dimensions, two pools. */
  private final Request request =
      new Request(
          List.of(new Location(1, 16, 32, Shape.of(2, 4)), Argument.NO_VALUE),
          List.of(new Location(0, 0, 0xFFFF_FFFFL, Shape.of(7))),
          List.of(new MemoryPool.Shared(memory), new MemoryPool.Shared(memory)));

  @AfterEach
  void close() {
    memory.close();
  }

  /** The packet of the request above, with slots 5 and 0x01020304. */
  private static Bytes golden() {
    Bytes bytes = new Bytes();
    bytes.u8(0, 0, 0, 0).u32(10, 2, 1, 2).zeros(4);
    bytes.u8(1, 0, 0, 0).u8(0, 0, 0, 0).u32(1, 16, 32).u32(2);
    bytes.u8(2, 0, 0, 0).u32(2).zeros(16);
    bytes.u8(2, 0, 0, 0).u32(4).zeros(16);
    bytes.u8(1, 0, 0, 0).u8(1, 0, 0, 0).u32(0, 0, 0).u32(0);
    bytes.u8(3, 0, 0, 0).u8(0, 0, 0, 0).u32(0, 0, 0xFFFF_FFFFL).u32(1);
    bytes.u8(4, 0, 0, 0).u32(7).zeros(16);
    bytes.u8(5, 0, 0, 0).u32(5).zeros(16);
    bytes.u8(5, 0, 0, 0).u32(0x01020304).zeros(16);
    return bytes.u8(6, 0, 0, 0).u32(1).zeros(16);
  }

  private static RequestDecoder decoder(int version) {
    return new RequestDecoder(version, ExecutionControl.NONE);
  }

  @Test
  void theBytesOfARequestAreAosps() {
    for (int version = 1; version <= 2; version++) {
      RequestEncoder encoder = new RequestEncoder(version);
      assertTrue(encoder.encode(request, new int[] {5, 0x01020304}));
      assertTrue(encoder.encode(TIMED, true));
      assertEquals(golden().text(), Bytes.text(encoder.packet()));
    }
  }

  @Test
  void noByteOfAnEarlierPacketIsLeft() {
    RequestEncoder encoder = new RequestEncoder(2);
    Request large =
        new Request(
            List.of(new Location(-1, 0xFFFF_FFFFL, 0xFFFF_FFFFL, Shape.of(1, 2, 3, 4, 5, 6))),
            List.of(),
            List.of());
    assertTrue(encoder.encode(large, new int[0]));
    assertTrue(
        encoder.encode(
            TIMED.with(Deadline.ofNanoTime(-1)).withLoopTimeout(Duration.ofNanos(7)), true));
    assertTrue(encoder.encode(request, new int[] {5, 0x01020304}));
    assertTrue(encoder.encode(TIMED, true));
    assertEquals(golden().text(), Bytes.text(encoder.packet()));
  }

  @Test
  void aRequestIsReadBack() {
    RequestDecoder decoder = decoder(1);
    assertEquals(ErrorStatus.NONE, decoder.decode(golden().packet()));
    assertEquals(request.inputs(), decoder.inputs());
    assertEquals(request.outputs(), decoder.outputs());
    assertEquals(2, decoder.poolCount());
    assertEquals(5, decoder.pool(0));
    assertEquals(0x01020304, decoder.pool(1));
    assertEquals(TIMED, decoder.config());
    List<Argument> inputs = decoder.inputs();
    ExecutionConfig config = decoder.config();
    assertEquals(ErrorStatus.NONE, decoder.decode(golden().packet()));
    assertSame(inputs, decoder.inputs(), "an equal packet gives the same objects");
    assertSame(config, decoder.config());
  }

  @Test
  void paddingIsNotLookedAt() {
    Datums packet = golden().packet();
    packet.setByte(0, 2, 99);
    packet.setInt(9, 20, -1);
    RequestDecoder decoder = decoder(1);
    assertEquals(ErrorStatus.NONE, decoder.decode(packet));
    assertEquals(request.inputs(), decoder.inputs());
  }

  @Test
  void version2SaysDeadlinesLoopTimeoutsAndTokens() {
    Request buffers =
        new Request(
            List.of(new Location(0, 0, 0, Shape.NONE)),
            List.of(),
            List.of(new MemoryPool.Device(new Token(0x0A0B0C0D))));
    ExecutionConfig config =
        ExecutionConfig.DEFAULT
            .with(Deadline.ofNanoTime(0x1122334455667788L))
            .withLoopTimeout(Duration.ofNanos(1_000_000_007));
    RequestEncoder encoder = new RequestEncoder(2);
    assertTrue(encoder.encode(buffers, new int[] {-1}));
    assertTrue(encoder.encode(config, true));
    Bytes bytes = new Bytes();
    bytes.u8(0, 0, 0, 0).u32(6, 1, 0, 1).zeros(4);
    bytes.u8(1, 0, 0, 0).u8(0, 0, 0, 0).u32(0, 0, 0).u32(0);
    bytes.u8(9, 0, 0, 0).u32(0x0A0B0C0D).zeros(16);
    bytes.u8(6, 0, 0, 0).u32(0).zeros(16);
    bytes.u8(7, 0, 0, 0).u32(1).u64(0x1122334455667788L).zeros(8);
    bytes.u8(8, 0, 0, 0).u32(0).u64(1_000_000_007).zeros(8);
    assertEquals(bytes.text(), Bytes.text(encoder.packet()));

    RequestDecoder decoder = decoder(2);
    assertEquals(ErrorStatus.NONE, decoder.decode(bytes.packet()));
    assertTrue(decoder.isToken(0));
    assertEquals(0x0A0B0C0D, decoder.pool(0));
    assertEquals(0x1122334455667788L, decoder.config().deadline().nanoTime());
    assertEquals(config.loopTimeout(), decoder.config().loopTimeout());
    assertEquals(
        ErrorStatus.GENERAL_FAILURE, decoder(1).decode(bytes.packet()), "version 1 has no tokens");
  }

  @Test
  void aDeadlineOfAnotherClockIsTheTimeLeft() {
    RequestEncoder encoder = new RequestEncoder(2);
    assertTrue(encoder.encode(request, new int[] {0, 1}));
    assertTrue(encoder.encode(TIMED.with(Deadline.after(Duration.ofHours(1))), false));
    RequestDecoder decoder = decoder(2);
    assertEquals(ErrorStatus.NONE, decoder.decode(encoder.packet()));
    Duration left = decoder.config().deadline().remaining();
    assertTrue(left.compareTo(Duration.ofHours(1)) <= 0, left::toString);
    assertTrue(left.compareTo(Duration.ofMinutes(30)) > 0, left::toString);
  }

  @Test
  void onlySettingsThatDifferAreReadAnew() {
    RequestEncoder encoder = new RequestEncoder(2);
    assertTrue(encoder.encode(request, new int[] {0, 1}));
    assertTrue(encoder.encode(ExecutionConfig.DEFAULT, true));
    RequestDecoder decoder = decoder(2);
    assertEquals(ErrorStatus.NONE, decoder.decode(encoder.packet()));
    List<Argument> inputs = decoder.inputs();
    assertTrue(encoder.encode(TIMED, true));
    assertEquals(ErrorStatus.NONE, decoder.decode(encoder.packet()));
    assertSame(inputs, decoder.inputs());
    assertTrue(decoder.config().measureTiming());
    assertTrue(encoder.encode(request, new int[] {0, 2}));
    assertTrue(encoder.encode(TIMED, true));
    assertEquals(ErrorStatus.NONE, decoder.decode(encoder.packet()));
    assertNotSame(inputs, decoder.inputs());
    assertEquals(2, decoder.pool(1));
  }

  @Test
  void noVersionSaysPointersAndLargePlaces() {
    RequestEncoder encoder = new RequestEncoder(2);
    try (Arena arena = Arena.ofConfined()) {
      Request pointer =
          new Request(
              List.of(new Request.Pointer(arena.allocate(4), Shape.NONE)), List.of(), List.of());
      assertFalse(encoder.encode(pointer, new int[0]));
      assertFalse(encoder.encode(TIMED, true), "there is no request");
    }
    List<MemoryPool> pools = List.of(new MemoryPool.Shared(memory));
    Request far = new Request(List.of(new Location(0, 1L << 32, 4, Shape.NONE)), List.of(), pools);
    assertFalse(encoder.encode(far, new int[1]));
    Request device =
        new Request(List.of(), List.of(), List.of(new MemoryPool.Device(new Token(1))));
    assertFalse(new RequestEncoder(1).encode(device, new int[1]));
    assertTrue(encoder.encode(device, new int[1]));
    assertFalse(encoder.encode(TIMED.withDuration(Duration.ofSeconds(1)), true));
  }

  /** VTS's ways to make a packet malformed, without a server; the client's test has one. */
  @Test
  void everyPacketWithOneElementLessOrMoreIsMalformed() {
    Datums whole = golden().packet();
    for (int at = 0; at < whole.count(); at++) {
      assertMalformed(without(whole, at), "without element " + at);
    }
    for (int at = 0; at <= whole.count(); at++) {
      for (int tag = 0; tag <= 11; tag++) {
        assertMalformed(with(whole, at, tag), "with a " + tag + " before element " + at);
      }
    }
  }

  private static void assertMalformed(Datums packet, String message) {
    for (int version = 1; version <= 2; version++) {
      RequestDecoder decoder = decoder(version);
      assertEquals(ErrorStatus.GENERAL_FAILURE, decoder.decode(packet), message);
      assertEquals(ErrorStatus.NONE, decoder.decode(golden().packet()), "the next is read");
      assertEquals(ErrorStatus.GENERAL_FAILURE, decoder.decode(packet), message);
    }
  }

  private static Datums without(Datums whole, int removed) {
    Datums packet = new Datums();
    for (int i = 0; i < whole.count(); i++) {
      if (i != removed) {
        copy(whole, i, packet);
      }
    }
    return packet;
  }

  private static Datums with(Datums whole, int place, int tag) {
    Datums packet = new Datums();
    for (int i = 0; i <= whole.count(); i++) {
      if (i == place) {
        packet.append((byte) tag);
      }
      if (i < whole.count()) {
        copy(whole, i, packet);
      }
    }
    return packet;
  }

  private static void copy(Datums from, int index, Datums to) {
    int last = to.append((byte) 0);
    to.segment().asSlice(last * 24L, 24).copyFrom(from.segment().asSlice(index * 24L, 24));
  }

  @Test
  void numbersThatCannotBeAreMalformedOrInvalid() {
    assertEquals(ErrorStatus.GENERAL_FAILURE, changed(0, 4, 11), "packetSize");
    assertEquals(ErrorStatus.GENERAL_FAILURE, changed(0, 8, -1), "inputs");
    assertEquals(ErrorStatus.GENERAL_FAILURE, changed(0, 8, Integer.MAX_VALUE), "inputs");
    assertEquals(ErrorStatus.GENERAL_FAILURE, changed(0, 12, -1), "outputs");
    assertEquals(ErrorStatus.GENERAL_FAILURE, changed(0, 16, -1), "pools");
    assertEquals(ErrorStatus.GENERAL_FAILURE, changed(0, 16, 3), "pools");
    assertEquals(ErrorStatus.GENERAL_FAILURE, changed(1, 20, -1), "dimensions");
    assertEquals(ErrorStatus.GENERAL_FAILURE, changed(1, 4, 2), "hasNoValue");
    assertEquals(ErrorStatus.GENERAL_FAILURE, changed(9, 4, 2), "measureTiming");
    assertEquals(ErrorStatus.INVALID_ARGUMENT, changed(2, 4, -1), "a dimension");
    assertEquals(ErrorStatus.INVALID_ARGUMENT, changed(4, 12, 4), "the place of no value");
    assertEquals(ErrorStatus.GENERAL_FAILURE, decoder(2).decode(new Datums()), "nothing");
  }

  private static ErrorStatus changed(int index, int offset, int value) {
    Datums packet = golden().packet();
    packet.setInt(index, offset, value);
    return decoder(1).decode(packet);
  }

  /** A buffer that has a token. */
  private record Token(int token) implements DeviceBuffer {
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
}
