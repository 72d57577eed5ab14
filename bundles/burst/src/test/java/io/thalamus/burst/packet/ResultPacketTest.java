// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.packet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The bytes of FmqResultDatum, from AOSP's list of fields and the rules of a C++ compiler. */
class ResultPacketTest {
  private static final List<OutputShape> SHAPES =
      List.of(new OutputShape(Shape.of(3, 0x01020304), true), new OutputShape(Shape.NONE, false));
  private static final Timing TIMING = Timing.of(Duration.ofNanos(1_999), Duration.ofNanos(70_000));

  /** The packet of a result with the shapes above. */
  private static Bytes golden(int size, int status, long onDevice, long inDriver) {
    Bytes bytes = new Bytes();
    bytes.u8(0, 0, 0, 0, 0, 0, 0, 0).u32(size, status, 2).zeros(4);
    bytes.u8(1, 0, 0, 0, 0, 0, 0, 0).u8(1, 0, 0, 0).u32(2).zeros(8);
    bytes.u8(2, 0, 0, 0, 0, 0, 0, 0).u32(3).zeros(12);
    bytes.u8(2, 0, 0, 0, 0, 0, 0, 0).u32(0x01020304).zeros(12);
    bytes.u8(1, 0, 0, 0, 0, 0, 0, 0).u8(0, 0, 0, 0).u32(0).zeros(8);
    return bytes.u8(3, 0, 0, 0, 0, 0, 0, 0).u64(onDevice, inDriver);
  }

  private static Datums encoded(int version, ExecutionResult result) {
    ResultEncoder encoder = new ResultEncoder(version);
    encoder.encode(result);
    return encoder.packet();
  }

  private static ExecutionResult decoded(int version, Datums packet) {
    return new ResultDecoder(version).decode(packet);
  }

  @Test
  void theBytesOfAResultAreAosps() {
    Completed completed = new Completed(SHAPES, TIMING, 12, 13);
    assertEquals(golden(6, 0, 1, 70).text(), Bytes.text(encoded(1, completed)));
    assertEquals(
        golden(6, 0, -1, -1).text(), Bytes.text(encoded(1, new Completed(SHAPES, Timing.NONE))));
    assertEquals(
        golden(6, 3, -1, -1).text(), Bytes.text(encoded(1, new OutputInsufficientSize(SHAPES))));
    Completed read = assertInstanceOf(Completed.class, decoded(1, golden(6, 0, 1, 70).packet()));
    assertEquals(SHAPES, read.outputs());
    assertEquals(Timing.of(Duration.ofNanos(1_000), Duration.ofNanos(70_000)), read.timing());
    assertEquals(new OutputInsufficientSize(SHAPES), decoded(1, golden(6, 3, -1, -1).packet()));
  }

  @Test
  void version2SaysNanosecondsAndBytesBesides() {
    Completed completed = new Completed(SHAPES, TIMING, 12, 13);
    Bytes bytes = golden(8, 0, 1, 70);
    bytes.u8(4, 0, 0, 0, 0, 0, 0, 0).u64(1_999, 70_000);
    bytes.u8(5, 0, 0, 0, 0, 0, 0, 0).u64(12, 13);
    assertEquals(bytes.text(), Bytes.text(encoded(2, completed)));
    assertEquals(completed, decoded(2, bytes.packet()));
    assertNull(decoded(1, bytes.packet()), "version 1 has no such elements");
  }

  @Test
  void aFailureHasNoShapes() {
    Failed failed = new Failed(ErrorStatus.MISSED_DEADLINE_TRANSIENT, "zu spät");
    Bytes first = new Bytes();
    first.u8(0, 0, 0, 0, 0, 0, 0, 0).u32(2, 2, 0).zeros(4);
    first.u8(3, 0, 0, 0, 0, 0, 0, 0).u64(-1, -1);
    assertEquals(first.text(), Bytes.text(encoded(1, failed)), "1.2 has no word for it");
    Bytes second = new Bytes();
    second.u8(0, 0, 0, 0, 0, 0, 0, 0).u32(3, 5, 0).zeros(4);
    second.u8(3, 0, 0, 0, 0, 0, 0, 0).u64(-1, -1);
    second.u8(6, 0, 0, 0, 0, 0, 0, 0).u8('z', 'u', ' ', 's', 'p', 0xC3, 0xA4, 't').zeros(8);
    assertEquals(second.text(), Bytes.text(encoded(2, failed)));
    assertEquals(failed, decoded(2, second.packet()));
    Failed plain = assertInstanceOf(Failed.class, decoded(1, first.packet()));
    assertEquals(ErrorStatus.GENERAL_FAILURE, plain.status());
  }

  @Test
  void longMessagesAreCutAndLongerThanOneElement() {
    String text = "0123456789abcdef".repeat(3) + "end";
    Failed failed = new Failed(ErrorStatus.INVALID_ARGUMENT, text);
    assertEquals(failed, decoded(2, encoded(2, failed)));
    Failed huge = new Failed(ErrorStatus.INVALID_ARGUMENT, "x".repeat(10_000));
    assertEquals(18, encoded(2, huge).count());
  }

  @Test
  void durationsThatNoClockMeasuresAreNotSaid() {
    Timing odd = Timing.of(Duration.ofSeconds(Long.MAX_VALUE), Duration.ofSeconds(-1));
    assertEquals(golden(6, 0, -1, -1).text(), Bytes.text(encoded(1, new Completed(SHAPES, odd))));
  }

  @Test
  void anEqualPacketGivesTheSameResult() {
    ResultDecoder decoder = new ResultDecoder(2);
    ExecutionResult first = decoder.decode(golden(6, 0, -1, -1).packet());
    assertSame(first, decoder.decode(golden(6, 0, -1, -1).packet()));
    Completed other =
        assertInstanceOf(Completed.class, decoder.decode(golden(6, 0, 1, 70).packet()));
    assertSame(
        ((Completed) first).outputs(), other.outputs(), "shapes stay when only time differs");
  }

  @Test
  void whatIsNotExactlyAPacketIsNone() {
    for (int version = 1; version <= 2; version++) {
      Datums whole = golden(6, 0, 1, 70).packet();
      for (int size = 0; size < whole.count(); size++) {
        Datums cut = golden(6, 0, 1, 70).packet();
        cut.resize(size);
        assertNull(decoded(version, cut), "cut to " + size);
        cut = golden(size, 0, 1, 70).packet();
        assertNull(decoded(version, cut), "packetSize " + size);
      }
      assertNull(decoded(version, golden(6, 9, 1, 70).packet()), "status 9");
      assertNull(decoded(version, golden(6, -1, 1, 70).packet()), "status -1");
      assertNull(decoded(version, golden(6, 0, -2, 70).packet()), "a negative time");
      assertNull(decoded(version, golden(6, 0, 1, Long.MAX_VALUE).packet()), "an endless time");
      for (int index = 0; index < whole.count(); index++) {
        Datums other = golden(6, 0, 1, 70).packet();
        other.setByte(index, 0, 7);
        assertNull(decoded(version, other), "another tag at " + index);
      }
    }
    assertNull(decoded(1, golden(6, 5, 1, 70).packet()), "1.2 has no status 5");
  }

  @Test
  void theEndOfAServerIsAPacketOfNoElements() {
    ResultEncoder encoder = new ResultEncoder(1);
    encoder.encodeEnd();
    Bytes bytes = new Bytes().zeros(24);
    assertEquals(bytes.text(), Bytes.text(encoder.packet()));
    assertTrue(ResultDecoder.isEnd(encoder.packet()));
    assertFalse(ResultDecoder.isEnd(golden(6, 0, 1, 70).packet()));
  }
}
