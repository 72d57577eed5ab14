// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.console.Candidates.Kind;
import io.thalamus.console.text.Style;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SyntaxTest {
  /** The values of an option. */
  private enum Speed {
    LOW_POWER,
    FAST_SINGLE_ANSWER,
    SUSTAINED_SPEED
  }

  private static final Syntax SYNTAX =
      Syntax.of("nn:try", "FILE [MORE...]", "Tries.", 1, 3)
          .option("device", "D", "where")
          .option("mean", "M", "how")
          .repeated("output", "FILE", "to", Candidates.of(Candidates.Kind.FILES))
          .flag("verbose", "v", "all");

  private static final String USAGE =
      "; usage: nn:try FILE [MORE...] [--device D] [--mean M] [--output FILE]... [-v] [--json]";

  @Test
  void optionsStandAnywhereInBothForms() throws CommandException {
    Arguments arguments =
        SYNTAX.parse("a", "--device=cpu", "-v", "b", "--output", "x", "--output=y", "--json");
    assertEquals(List.of("a", "b"), arguments.operands());
    assertEquals(Optional.of("cpu"), arguments.text("device"));
    assertEquals(List.of("x", "y"), arguments.texts("output"));
    assertTrue(arguments.has("verbose"));
    assertTrue(arguments.has("json"));
    assertFalse(arguments.has("mean"));
  }

  @Test
  void negativeNumbersAndEmptyValuesAreValues() throws CommandException {
    assertArrayEquals(
        new float[] {-1.5f}, SYNTAX.parse("a", "--mean", "-1.5").numbers("mean").orElseThrow());
    assertArrayEquals(
        new float[] {1, 2, 3}, SYNTAX.parse("a", "--mean=1, 2,3").numbers("mean").orElseThrow());
    assertEquals(Optional.of(""), SYNTAX.parse("a", "--device", "").text("device"));
  }

  @Test
  void twoDashesEndTheOptions() throws CommandException {
    assertEquals(List.of("a", "--device"), SYNTAX.parse("a", "--", "--device").operands());
  }

  @Test
  void quotesBelongToTheValue() throws CommandException {
    assertEquals(Optional.of("\"x\""), SYNTAX.parse("a", "--device", "\"x\"").text("device"));
  }

  @ParameterizedTest
  @CsvSource({
    "'', 0, 0",
    "MODEL, 1, 1",
    "DEVICE [FILE], 1, 2",
    "NAME DIR-or-FILE, 2, 2",
    "MODEL [INPUT...], 1, 99",
    "[NAME | NAME=VALUE]..., 0, 99",
    "FILE [-- COMMAND...], 1, 99"
  })
  void theWordsTellHowManyOperandsThereAre(String operands, int least, int most) {
    Syntax syntax = Syntax.of("nn:try", operands, "tries");
    for (int count = 0; count < 100; count++) {
      String[] words = Collections.nCopies(count, "x").toArray(String[]::new);
      if (count >= least && count <= most) {
        assertEquals(count, syntax.parse(words).operands().size());
      } else {
        assertThrows(CommandException.class, () -> syntax.parse(words));
      }
    }
  }

  @Test
  void mistakesAreOneLineEach() {
    assertLine("nn:try: unknown option --devices" + USAGE, "a", "--devices", "x");
    assertLine("nn:try: unknown option --dev" + USAGE, "a", "--dev", "x");
    assertLine("nn:try: unknown option -x" + USAGE, "a", "-x");
    assertLine(
        "nn:try: unknown option --with, which ./thalamus takes before the command" + USAGE,
        "a",
        "--with",
        "cpu");
    assertLine("nn:try: --device needs a value, D" + USAGE, "a", "--device");
    assertLine("nn:try: --device is given 2 times" + USAGE, "a", "--device=x", "--device=y");
    assertLine("nn:try: too few arguments" + USAGE);
    assertLine("nn:try: too many arguments" + USAGE, "a", "b", "c", "d");
  }

  @Test
  void valuesAreChecked() throws CommandException {
    Arguments arguments = SYNTAX.parse("a", "--device", "Low-Power", "--mean", "nan");
    assertEquals(Optional.of(Speed.LOW_POWER), arguments.choice("device", Speed.class));
    assertThrows(CommandException.class, () -> arguments.numbers("mean"));
    assertThrows(CommandException.class, () -> arguments.integer("mean", 1));
    assertThrows(CommandException.class, () -> arguments.positive("mean"));
    Arguments wrong = SYNTAX.parse("a", "--device", "fast");
    CommandException e =
        assertThrows(CommandException.class, () -> wrong.choice("device", Speed.class));
    assertEquals(
        "nn:try: --device fast is none of low-power, fast-single-answer, sustained-speed" + USAGE,
        e.getMessage());
    assertEquals(2, e.exitStatus());
    assertThrows(
        CommandException.class, () -> SYNTAX.parse("a", "--device", "0").integer("device", 1));
    assertThrows(
        CommandException.class, () -> SYNTAX.parse("a", "--device", "-1").positive("device"));
  }

  @Test
  void aNumberIsSaidToBeTooSmallOrTooLarge() throws CommandException {
    assertEquals(7, SYNTAX.parse("a", "--device", "7").integer("device", 7, 9).orElseThrow());
    assertEquals(9, SYNTAX.parse("a", "--device", "9").integer("device", 7, 9).orElseThrow());
    assertNumber("6 is not a whole number from 7 on", "6");
    assertNumber("7.5 is not a whole number from 7 on", "7.5");
    assertNumber("10 is more than 9", "10");
    assertNumber("99999999999999999999 is more than 9", "99999999999999999999");
  }

  private static void assertNumber(String line, String value) throws CommandException {
    Arguments arguments = SYNTAX.parse("a", "--device", value);
    CommandException e =
        assertThrows(CommandException.class, () -> arguments.integer("device", 7, 9));
    assertEquals("nn:try: --device " + line + USAGE, e.getMessage());
  }

  @Test
  void noLineOfHelpIsWiderThanTheTerminal() {
    Syntax talkative = Syntax.of("nn:talk", "", "Talks, and ".repeat(20) + "ends.", 0, 0);
    String help = talkative.help(Style.PLAIN);
    assertTrue(help.lines().allMatch(line -> line.length() <= Style.PLAIN.width()), help);
    assertEquals(20, help.split("Talks,", -1).length - 1);
  }

  @Test
  void helpIsAskedForWithoutArguments() throws CommandException {
    assertTrue(SYNTAX.parse("--help").has("help"));
    String help = SYNTAX.help(Style.PLAIN);
    assertTrue(help.startsWith("nn:try FILE [MORE...]\nTries.\n\n  --device D"), help);
    for (Syntax.Option option : SYNTAX.options()) {
      assertTrue(help.contains("--" + option.name()), option.name());
      assertTrue(help.contains(option.description()), option.description());
    }
  }

  private static void assertLine(String line, String... words) {
    CommandException e = assertThrows(CommandException.class, () -> SYNTAX.parse(words));
    assertEquals(line, e.getMessage());
  }

  @Test
  void theSyntaxSaysWhatTabOffers() {
    Syntax syntax =
        Syntax.of("nn:try", "MODEL [FILE...]", "Tries.", 1, 9)
            .offering(Candidates.of(Kind.MODELS, Kind.FILES), Candidates.of(Kind.FILES))
            .choice("speed", "S", "how", Speed.class);
    assertEquals(List.of(Kind.MODELS, Kind.FILES), syntax.candidates(List.of()).kinds());
    assertEquals(List.of(Kind.FILES), syntax.candidates(List.of("m")).kinds());
    assertEquals(List.of(Kind.FILES), syntax.candidates(List.of("m", "a", "b")).kinds());
    assertEquals(
        List.of(Kind.MODELS, Kind.FILES),
        syntax.candidates(List.of("--speed", "x", "--json")).kinds());
    assertEquals(Candidates.NONE, SYNTAX.candidates(List.of()));
    assertEquals(
        List.of("low-power", "fast-single-answer", "sustained-speed"),
        syntax.candidates(List.of("m", "--speed")).words());
  }
}
