// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

import java.util.Objects;

/** A place in memory that an instruction reads or writes. Immutable. */
public sealed interface Address {
  /** Returns the place some bytes behind what a register points to. */
  static Address at(Gpr base, int displacement) {
    return new Based(base, displacement);
  }

  /** Returns the place some bytes behind the sum of a register and a multiple of another. */
  static Address at(Gpr base, Gpr index, Scale scale, int displacement) {
    return new Indexed(base, index, scale, displacement);
  }

  /** Returns the place of a label in the code itself, as a distance from the instruction. */
  static Address at(Label label) {
    return new Relative(label);
  }

  /** A register and a distance. */
  record Based(Gpr base, int displacement) implements Address {
    public Based {
      Objects.requireNonNull(base, "base");
    }
  }

  /** Two registers and a distance. */
  record Indexed(Gpr base, Gpr index, Scale scale, int displacement) implements Address {
    public Indexed {
      Objects.requireNonNull(base, "base");
      Objects.requireNonNull(scale, "scale");
      if (index == Gpr.RSP) {
        throw new IllegalArgumentException("rsp cannot be an index");
      }
    }
  }

  /** A place in the code. */
  record Relative(Label label) implements Address {
    public Relative {
      Objects.requireNonNull(label, "label");
    }
  }

  /** The factors of an index, in the order of their encoding. */
  enum Scale {
    ONE,
    TWO,
    FOUR,
    EIGHT
  }
}
