// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Holds each form of instruction against what objdump, of the system's binutils, reads in it. */
class DisassemblyTest {
  private static final Pattern LINE = Pattern.compile("^\\s*[0-9a-f]+:\\s+(.*)$");
  private static final int[] DISPLACEMENTS = {0, 4, 64, 127, 128, -128, -129, 8192, 100_000};
  private static final List<Gpr> REGISTERS = List.of(Gpr.values());

  @TempDir Path directory;
  private final Assembler assembler = new Assembler();
  private final List<String> expected = new ArrayList<>();
  private int turn;

  private void say(String text, Consumer<Assembler> instruction) {
    instruction.accept(assembler);
    expected.add(text);
  }

  @Test
  void objdumpReadsWhatWasMeant() throws Exception {
    assumeTrue(isInstalled(), "objdump is not installed: the forms are not held against it");
    general();
    vectors();
    masks();
    List<String> read = disassemble(assembler.finish());
    for (int i = 0; i < Math.min(expected.size(), read.size()); i++) {
      assertEquals(expected.get(i), read.get(i), "instruction " + i);
    }
    assertEquals(expected.size(), read.size());
    assertTrue(expected.size() > 5000, () -> expected.size() + " instructions");
  }

  private void general() {
    for (Gpr to : REGISTERS) {
      for (Gpr from : REGISTERS) {
        say("mov " + name(to) + "," + name(from), a -> a.mov(to, from));
        say("imul " + name(to) + "," + name(from), a -> a.imul(to, from));
        Alu alu = Alu.values()[turn++ % Alu.values().length];
        say(lower(alu) + " " + name(to) + "," + name(from), a -> a.emit(alu, to, from));
        Operand memory = memory(from, 0);
        say("mov " + name(to) + ",QWORD PTR " + memory.text, a -> a.load(to, memory.address));
        say("mov QWORD PTR " + memory.text + "," + name(to), a -> a.store(memory.address, to));
        say("movzx " + name(to) + ",BYTE PTR " + memory.text, a -> a.loadByte(to, memory.address));
        say("prefetcht0 BYTE PTR " + memory.text, a -> a.prefetcht0(memory.address));
        say("mov BYTE PTR " + memory.text + "," + name8(to), a -> a.storeByte(memory.address, to));
        say("jmp QWORD PTR " + memory.text, a -> a.jump(memory.address));
        say("bsr " + name(to) + "," + name(from), a -> a.bsr(to, from));
        say("lea " + name(to) + "," + memory.text, a -> a.lea(to, memory.address));
        say(
            lower(alu) + " " + name(to) + ",QWORD PTR " + memory.text,
            a -> a.emit(alu, to, memory.address));
      }
      for (Alu alu : Alu.values()) {
        for (int value : new int[] {1, 127, -128, 4095}) {
          // The accumulator has shorter forms for long numbers, which the assembler leaves out.
          say(lower(alu) + " " + name(to) + "," + hex(value), a -> a.emit(alu, to, value));
        }
      }
      for (Shift shift : Shift.values()) {
        say(lower(shift) + " " + name(to) + ",0x5", a -> a.emit(shift, to, 5));
        say(lower(shift) + " " + name(to) + ",cl", a -> a.emit(shift, to));
      }
      say("imul " + name(to) + "," + name(to) + ",0x3e8", a -> a.imul(to, to, 1000));
      say("movabs " + name(to) + ",0x123456789abcdef", a -> a.mov(to, 0x123456789abcdefL));
      say("mov " + name(to) + ",0xfffffffffffffffb", a -> a.mov(to, -5));
      say("push " + name(to), a -> a.push(to));
      say("pop " + name(to), a -> a.pop(to));
    }
    say("mov eax,0x64", a -> a.mov(Gpr.RAX, 100));
    say("mov r9d,0x64", a -> a.mov(Gpr.R9, 100));
    say("vzeroupper", Assembler::vzeroupper);
    say("rep movs BYTE PTR es:[rdi],BYTE PTR ds:[rsi]", Assembler::repMovsb);
    say("rep stos BYTE PTR es:[rdi],al", Assembler::repStosb);
    say("syscall", Assembler::syscall);
    say("ret", Assembler::ret);
  }

  private void vectors() {
    for (Length length : Length.values()) {
      for (int pair = 0; pair < 64; pair++) {
        int limit = length.registers();
        Vector to = new Vector(length, pair * 7 % limit);
        Vector first = new Vector(length, pair * 5 % limit);
        Vector second = new Vector(length, pair * 11 % limit);
        for (Binary binary : Binary.values()) {
          if (binary.encoding().takes(length, limit - 1)) {
            say(
                "%s %s,%s,%s".formatted(lower(binary), name(to), name(first), name(second)),
                a -> a.emit(binary, to, first, second));
            Operand memory = memory(REGISTERS.get(pair % 16), pair);
            say(
                "%s %s,%s,%s PTR %s"
                    .formatted(
                        lower(binary), name(to), name(first), size(length.bytes()), memory.text),
                a -> a.emit(binary, to, first, memory.address));
          }
        }
        for (Unary unary : Unary.values()) {
          if (unary.encoding().takes(length, limit - 1)) {
            Vector from = second.as(unary.source(length));
            say(
                "%s %s,%s".formatted(lower(unary), name(to), name(from)),
                a -> a.emit(unary, to, from));
            Operand memory = memory(REGISTERS.get(pair % 16), pair);
            say(
                "%s %s,%s PTR %s"
                    .formatted(
                        lower(unary),
                        name(to),
                        size(unary.encoding().tuple().bytes(length)),
                        memory.text),
                a -> a.emit(unary, to, memory.address));
          }
        }
        for (Move move : Move.values()) {
          if (move.load().takes(length, limit - 1)) {
            Operand memory = memory(REGISTERS.get(pair * 3 % 16), pair);
            String place = size(length.bytes()) + " PTR " + memory.text;
            say(
                "%s %s,%s".formatted(lower(move), name(to), place),
                a -> a.load(move, to, memory.address));
            say(
                "%s %s,%s".formatted(lower(move), place, name(to)),
                a -> a.store(move, memory.address, to));
          }
        }
        for (VectorShift shift : VectorShift.values()) {
          say(
              "%s %s,%s,0x7".formatted(lower(shift), name(to), name(first)),
              a -> a.emit(shift, to, first, 7));
        }
        for (Narrow narrow : Narrow.values()) {
          Operand memory = memory(REGISTERS.get(pair * 3 % 16), pair);
          int bytes = narrow.encoding().tuple().bytes(length);
          say(
              "%s %s PTR %s,%s".formatted(lower(narrow), size(bytes), memory.text, name(to)),
              a -> a.store(narrow, memory.address, to));
        }
        String round = length == Length.ZMM ? "vrndscaleps" : "vroundps";
        Rounding rounding = Rounding.values()[pair % 4];
        say(
            "%s %s,%s,%s".formatted(round, name(to), name(first), hex(rounding.ordinal())),
            a -> a.vroundps(to, first, rounding));
        if (length == Length.YMM) {
          wide(to, first, second, memory(REGISTERS.get(pair % 16), pair), pair & 7);
        }
      }
    }
  }

  /** Forms with a number, and others that few kernels need. */
  private void wide(Vector to, Vector first, Vector second, Operand memory, int number) {
    String three = name(to) + "," + name(first) + "," + name(second);
    say("vpblendd " + three + "," + hex(number), a -> a.vpblendd(to, first, second, number));
    Vector mask = new Vector(Length.YMM, number * 2);
    say("vblendvps " + three + "," + name(mask), a -> a.vblendvps(to, first, second, mask));
    Predicate predicate = Predicate.values()[number];
    say("vcmp" + name(predicate) + "ps " + three, a -> a.vcmpps(to, first, second, predicate));
    say(
        "vpermq %s,%s,%s".formatted(name(to), name(first), hex(number)),
        a -> a.vpermq(to, first, number));
    Vector half = to.as(Length.XMM);
    Vector other = first.as(Length.XMM);
    say(
        "vextracti128 %s,%s,0x1".formatted(name(half), name(first)),
        a -> a.vextracti128(half, first, 1));
    say(
        "vinserti128 %s,%s,%s,0x1".formatted(name(to), name(first), name(half)),
        a -> a.vinserti128(to, first, half, 1));
    say(
        "vroundpd %s,%s,0x1".formatted(name(to), name(first)),
        a -> a.vroundpd(to, first, Rounding.DOWN));
    say("vcvtpd2ps %s,%s".formatted(name(half), name(first)), a -> a.vcvtpd2ps(half, first));
    say("vcvttpd2dq %s,%s".formatted(name(half), name(first)), a -> a.vcvttpd2dq(half, first));
    say(
        "vcvtps2ph %s,%s,0x0".formatted(name(half), name(first)),
        a -> a.vcvtps2ph(half, first, Rounding.NEAREST));
    say(
        "vpinsrb %s,%s,BYTE PTR %s,%s".formatted(name(half), name(other), memory.text, hex(number)),
        a -> a.vpinsrb(half, other, memory.address, number));
    say(
        "vpextrb BYTE PTR %s,%s,%s".formatted(memory.text, name(half), hex(number)),
        a -> a.vpextrb(memory.address, half, number));
    say(
        "vpextrw WORD PTR %s,%s,%s".formatted(memory.text, name(half), hex(number)),
        a -> a.vpextrw(memory.address, half, number));
    say(
        "vmovq QWORD PTR %s,%s".formatted(memory.text, name(half)),
        a -> a.vmovq(memory.address, half));
    say(
        "vmovss DWORD PTR %s,%s".formatted(memory.text, name(half)),
        a -> a.vmovss(memory.address, half));
    say(
        "vmovss %s,DWORD PTR %s".formatted(name(half), memory.text),
        a -> a.vmovss(half, memory.address));
    say(
        "vmaskmovps %s,%s,YMMWORD PTR %s".formatted(name(to), name(first), memory.text),
        a -> a.vmaskmovps(to, first, memory.address));
    say(
        "vmaskmovps YMMWORD PTR %s,%s,%s".formatted(memory.text, name(first), name(to)),
        a -> a.vmaskmovps(memory.address, first, to));
  }

  private void masks() {
    for (int number = 1; number < 8; number++) {
      Mask mask = new Mask(number);
      Vector vector = new Vector(Length.ZMM, number * 4);
      Operand memory = memory(REGISTERS.get(number * 2 + 1), number);
      String name = "{k" + number + "}";
      say(
          "vmovups %s%s{z},ZMMWORD PTR %s".formatted(name(vector), name, memory.text),
          a -> a.load(Move.VMOVUPS, vector, mask, memory.address));
      say(
          "vmovups ZMMWORD PTR %s%s,%s".formatted(memory.text, name, name(vector)),
          a -> a.store(Move.VMOVUPS, memory.address, mask, vector));
      for (Narrow narrow : Narrow.values()) {
        String half = size(narrow.encoding().tuple().bytes(Length.ZMM));
        say(
            "%s %s PTR %s%s,%s".formatted(lower(narrow), half, memory.text, name, name(vector)),
            a -> a.store(narrow, memory.address, mask, vector));
      }
      Vector other = new Vector(Length.ZMM, 31 - number);
      say(
          "vmovshdup %s%s,%s".formatted(name(vector), name, name(other)),
          a -> a.emit(Unary.VMOVSHDUP, vector, mask, other));
      say(
          "vmovups %s%s,%s".formatted(name(vector), name, name(other)),
          a -> a.emit(Move.VMOVUPS, vector, mask, other));
      Predicate predicate = Predicate.values()[number];
      say(
          "vcmp%sps k%d,%s,%s".formatted(name(predicate), number, name(vector), name(other)),
          a -> a.vcmpps(mask, vector, other, predicate));
      Gpr from = REGISTERS.get(number * 2);
      say("kmovd k" + number + "," + name32(from), a -> a.kmovd(mask, from));
      say("kmovw k" + number + "," + name32(from), a -> a.kmovw(mask, from));
    }
  }

  /** An address and what objdump calls it. */
  private record Operand(Address address, String text) {}

  private Operand memory(Gpr base, int seed) {
    int displacement = DISPLACEMENTS[turn++ % DISPLACEMENTS.length];
    if (seed % 3 == 0) {
      return new Operand(
          Address.at(base, displacement), "[" + name(base) + end(base, displacement) + "]");
    }
    Gpr index = REGISTERS.get((seed * 5 + 1) % 16 == 4 ? 5 : (seed * 5 + 1) % 16);
    Address.Scale scale = Address.Scale.values()[seed % 4];
    return new Operand(
        Address.at(base, index, scale, displacement),
        "[%s+%s*%d%s]"
            .formatted(name(base), name(index), 1 << scale.ordinal(), end(base, displacement)));
  }

  /** Also where it is 0, if the encoding needs one: behind rbp and r13. */
  private static String end(Gpr base, int displacement) {
    if (displacement == 0) {
      return base == Gpr.RBP || base == Gpr.R13 ? "+0x0" : "";
    }
    return displacement < 0 ? "-" + hex(-displacement) : "+" + hex(displacement);
  }

  private static String size(int bytes) {
    return switch (bytes) {
      case 1 -> "BYTE";
      case 2 -> "WORD";
      case 4 -> "DWORD";
      case 8 -> "QWORD";
      case 16 -> "XMMWORD";
      case 32 -> "YMMWORD";
      default -> "ZMMWORD";
    };
  }

  private static String hex(int value) {
    return value < 0 ? "0x" + Long.toHexString(value) : "0x" + Integer.toHexString(value);
  }

  private static String lower(Enum<?> constant) {
    // What is usual with EVEX is marked where it has VEX.
    return constant == Binary.VPDPBUSD_VEX
        ? "{vex} vpdpbusd"
        : constant.name().toLowerCase(Locale.ROOT);
  }

  private static String name(Predicate predicate) {
    return switch (predicate) {
      case EQUAL -> "eq";
      case LESS -> "lt";
      case LESS_OR_EQUAL -> "le";
      case UNORDERED -> "unord";
      case NOT_EQUAL -> "neq";
      case NOT_GREATER_OR_EQUAL -> "nge";
      case GREATER_OR_EQUAL -> "ge";
      case GREATER -> "gt";
    };
  }

  private static String name(Gpr register) {
    return lower(register);
  }

  private static String name8(Gpr register) {
    String name = lower(register);
    if (register.ordinal() > 7) {
      return name + "b";
    }
    return register.ordinal() < 4 ? name.charAt(1) + "l" : name.substring(1) + "l";
  }

  private static String name32(Gpr register) {
    return register.ordinal() > 7 ? lower(register) + "d" : "e" + lower(register).substring(1);
  }

  private static String name(Vector vector) {
    return lower(vector.length()) + vector.number();
  }

  private static boolean isInstalled() throws InterruptedException {
    try {
      Process process =
          new ProcessBuilder("objdump", "--version").redirectErrorStream(true).start();
      process.getInputStream().readAllBytes();
      return process.waitFor() == 0;
    } catch (IOException e) {
      return false;
    }
  }

  private List<String> disassemble(byte[] code) throws IOException {
    Path file = Files.write(directory.resolve("code"), code);
    Process process =
        new ProcessBuilder(
                "objdump",
                "-D",
                "-b",
                "binary",
                "-m",
                "i386:x86-64",
                "-M",
                "intel",
                "--no-show-raw-insn",
                file.toString())
            .redirectErrorStream(true)
            .start();
    String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    List<String> lines = new ArrayList<>();
    for (String line : text.lines().toList()) {
      Matcher matcher = LINE.matcher(line);
      if (matcher.matches()) {
        lines.add(matcher.group(1).replaceAll("\\s+#.*", "").replaceAll("\\s+", " ").strip());
      }
    }
    return lines;
  }
}
