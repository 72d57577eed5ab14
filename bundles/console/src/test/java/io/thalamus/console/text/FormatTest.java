// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console.text;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class FormatTest {
  @Test
  void sizesHaveThreeDigitsAtMostAndBinaryUnits() {
    assertEquals("0 B", Units.bytes(0));
    assertEquals("1023 B", Units.bytes(1023));
    assertEquals("1.0 KiB", Units.bytes(1024));
    assertEquals("12.0 KiB", Units.bytes(12288));
    assertEquals("147 KiB", Units.bytes(150528));
    assertEquals("3.4 MiB", Units.bytes(3_610_798));
    assertEquals("2.0 TiB", Units.bytes(1L << 41));
  }

  @Test
  void timesChooseTheirUnit() {
    assertEquals("0 us", Units.time(Duration.ZERO));
    assertEquals("3.3 us", Units.time(Duration.ofNanos(3_250)));
    assertEquals("850 us", Units.time(Duration.ofNanos(850_000)));
    assertEquals("12.35 ms", Units.time(Duration.ofNanos(12_345_678)));
    assertEquals("123 ms", Units.time(Duration.ofNanos(123_456_789)));
    assertEquals("1.24 s", Units.time(Duration.ofMillis(1_240)));
    assertEquals("2 min 5 s", Units.time(Duration.ofSeconds(125)));
  }

  @Test
  void numbersKeepFourDigits() {
    assertEquals("0", Units.number(0));
    assertEquals("-3", Units.number(-3));
    assertEquals("0.9922", Units.number(0.9921875));
    assertEquals("127.5", Units.number(127.5));
    assertEquals("255", Units.number(254.99998));
    assertEquals("0.25", Units.number(0.25));
    assertEquals("100", Units.number(99.9999));
    assertEquals("10000", Units.number(10000.4));
    assertEquals("1234", Units.number(1234.4));
    assertEquals("1.000e-05", Units.number(1e-5));
    assertEquals("NaN", Units.number(Double.NaN));
    assertEquals("12,501,632", Units.count(12_501_632));
    assertEquals("1 step", Units.plural(1, "step"));
    assertEquals("0 steps", Units.plural(0, "step"));
  }

  @Test
  void barsGrowByEighths() {
    assertEquals("", Bars.bar(0, 10));
    assertEquals("█".repeat(10), Bars.bar(1, 10));
    assertEquals("█████", Bars.bar(0.5, 10));
    assertEquals("▌", Bars.bar(0.05, 10));
    assertEquals("█".repeat(10), Bars.bar(7, 10));
    assertEquals("", Bars.bar(Double.NaN, 10));
    assertEquals("", Bars.bar(-1, 10));
  }

  @Test
  void tablesAlignAndWrapTheLastColumn() {
    Style narrow = new Style(false, false, 44);
    String text =
        new Table(narrow, "id", ">size", "what")
            .row("cpu", 5, "one two three four five six seven")
            .row("simd", 1234, "x")
            .text();
    assertEquals(
        List.of(
            "id    size  what",
            "cpu      5  one two three four five six",
            "            seven",
            "simd  1234  x"),
        text.lines().toList());
  }

  @Test
  void coloursDoNotMoveColumns() {
    Style colour = new Style(false, true, 80);
    String text =
        new Table(colour, "", "").row(Table.painted("a", colour::good), "1").row("bbb", "2").text();
    assertEquals("\u001b[32ma\u001b[0m    1\nbbb  2", text);
    assertEquals("a", Style.PLAIN.good("a"));
  }
}
