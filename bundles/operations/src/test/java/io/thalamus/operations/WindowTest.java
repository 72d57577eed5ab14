// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Windows against counting positions one by one. */
class WindowTest {
  @Test
  void positionsAreThoseThatFit() throws ValidationException {
    for (int input = 1; input <= 12; input++) {
      for (int size = 1; size <= 5; size++) {
        for (int stride = 1; stride <= 4; stride++) {
          for (int dilation = 1; dilation <= 3; dilation++) {
            for (int before = 0; before <= 3; before++) {
              for (int after = 0; after <= 3; after++) {
                Window window = Window.explicit(size, stride, dilation, before, after);
                int count = 0;
                int start = -before;
                while (start + (size - 1) * dilation < input + after) {
                  count++;
                  start += stride;
                }
                if (count == 0) {
                  int padless = input;
                  assertThrows(ValidationException.class, () -> window.positions(padless));
                } else {
                  assertEquals(count, window.positions(input), window + " over " + input);
                }
              }
            }
          }
        }
      }
    }
  }

  @Test
  void sameGivesOnePositionForEachStride() throws ValidationException {
    for (int input = 1; input <= 20; input++) {
      for (int size = 1; size <= 5; size++) {
        for (int stride = 1; stride <= 6; stride++) {
          for (int dilation = 1; dilation <= 3; dilation++) {
            Window window = Window.implicit(input, size, stride, dilation, Window.SAME);
            String text = window + " over " + input;
            assertEquals((int) Math.ceil(input / (double) stride), window.positions(input), text);
            assertTrue(window.after() == window.before() || window.after() == window.before() + 1);
            // No padding more than is needed.
            if (window.before() + window.after() > 0) {
              Window less =
                  window.after() > 0
                      ? new Window(size, stride, dilation, window.before(), window.after() - 1)
                      : new Window(size, stride, dilation, window.before() - 1, 0);
              int positions = (input + less.before() + less.after() - less.reach()) / stride + 1;
              boolean fits = input + less.before() + less.after() >= less.reach();
              assertTrue(!fits || positions < window.positions(input), text);
            }
          }
        }
      }
    }
  }

  /** Also positions with all taps on one side of the input, or with none inside of a narrow one. */
  @Test
  void tapsFromTheFirstToTheEndAreThoseInside() throws ValidationException {
    for (int input = 1; input <= 7; input++) {
      for (int size = 1; size <= 5; size++) {
        for (int stride = 1; stride <= 4; stride++) {
          for (int dilation = 1; dilation <= 4; dilation++) {
            for (int before = 0; before <= 9; before++) {
              Window window = Window.explicit(size, stride, dilation, before, 0);
              for (int position = 0; position <= 12; position++) {
                String text = window + " at " + position + " over " + input;
                int first = window.firstTap(position);
                int end = window.endTap(position, input);
                assertTrue(0 <= first && first <= end && end <= size, text);
                for (int tap = 0; tap < size; tap++) {
                  int cell = position * stride - before + tap * dilation;
                  assertEquals(cell, window.cell(position, tap), text);
                  boolean isInside = cell >= 0 && cell < input;
                  assertEquals(isInside, tap >= first && tap < end, text + ", tap " + tap);
                }
              }
            }
          }
        }
      }
    }
  }

  @Test
  void validHasNoPadding() throws ValidationException {
    assertEquals(new Window(3, 2, 1, 0, 0), Window.implicit(9, 3, 2, 1, Window.VALID));
  }

  @Test
  void nonsenseIsRefused() {
    assertThrows(ValidationException.class, () -> Window.implicit(9, 3, 1, 1, 0));
    assertThrows(ValidationException.class, () -> Window.implicit(9, 3, 1, 1, 3));
    assertThrows(ValidationException.class, () -> Window.implicit(9, 3, 0, 1, Window.SAME));
    assertThrows(ValidationException.class, () -> Window.explicit(0, 1, 1, 0, 0));
    assertThrows(ValidationException.class, () -> Window.explicit(1, 1, 0, 0, 0));
    assertThrows(ValidationException.class, () -> Window.explicit(1, 1, 1, -1, 0));
    assertThrows(ValidationException.class, () -> Window.explicit(1, 1, 1, 0, -1));
    assertThrows(ValidationException.class, () -> Window.explicit(3, 1, Integer.MAX_VALUE, 0, 0));
  }

  @Test
  void sizesNearTheLargestIntDoNotOverflow() throws ValidationException {
    int max = Integer.MAX_VALUE;
    assertEquals(max, Window.implicit(max, 1, 1, 1, Window.SAME).positions(max));
    assertEquals(1, Window.implicit(max, 1, max, 1, Window.SAME).positions(max));
    assertEquals(3, Window.explicit(1, max, 1, max, max).positions(1));
    Window far = Window.explicit(2, max, max - 1, max, max);
    assertEquals(2, far.firstTap(0));
    assertEquals(2, far.endTap(0, max));
    assertEquals(0, far.firstTap(2));
    assertEquals(1, far.endTap(1, max - 1));
    assertEquals(2, far.endTap(1, max));
    assertEquals(0, far.endTap(2, max));
  }
}
