// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.model.Shape;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Broadcasting against indexes computed one by one. */
class BroadcastTest {
  @Test
  void shapesThatFit() throws ValidationException {
    assertEquals(Shape.of(2, 3, 4), Broadcast.shape(Shape.of(2, 1, 4), Shape.of(3, 1)));
    assertEquals(Shape.of(5), Broadcast.shape(Shape.of(1), Shape.of(5)));
    assertEquals(Shape.of(2, 2), Broadcast.shape(Shape.NONE, Shape.of(2, 2)));
    assertEquals(Shape.of(0, 3), Broadcast.shape(Shape.of(0, 1), Shape.of(3)));
    assertEquals(Shape.of(0), Broadcast.shape(Shape.of(1), Shape.of(0)));
  }

  @Test
  void shapesThatDoNot() {
    assertThrows(ValidationException.class, () -> Broadcast.shape(Shape.of(2, 3), Shape.of(2)));
    assertThrows(ValidationException.class, () -> Broadcast.shape(Shape.of(0), Shape.of(2)));
  }

  @Test
  void stridesLeadToTheRightElement() throws ValidationException {
    long seed = 31;
    System.out.println("broadcast: seed " + seed);
    Random random = new Random(seed);
    for (int i = 0; i < 500; i++) {
      int rank = 1 + random.nextInt(5);
      int[] whole = random.ints(rank, 1, 4).toArray();
      int cut = random.nextInt(rank);
      int[] part = new int[rank - cut];
      for (int j = 0; j < part.length; j++) {
        part[j] = random.nextBoolean() ? 1 : whole[cut + j];
      }
      Shape operand = Shape.of(part);
      Shape result = Broadcast.shape(Shape.of(whole), operand);
      assertEquals(Shape.of(whole), result);
      int[] strides = Broadcast.strides(operand, result);
      int[] index = new int[rank];
      for (long element = 0; element < result.elementCount(); element++) {
        long rest = element;
        for (int axis = rank - 1; axis >= 0; axis--) {
          index[axis] = (int) (rest % whole[axis]);
          rest /= whole[axis];
        }
        long expected = 0;
        for (int j = 0; j < part.length; j++) {
          expected = expected * part[j] + (part[j] == 1 ? 0 : index[cut + j]);
        }
        long actual = 0;
        for (int axis = 0; axis < rank; axis++) {
          actual += (long) strides[axis] * index[axis];
        }
        assertEquals(expected, actual);
      }
    }
    assertArrayEquals(new int[] {0, 1, 0}, Broadcast.strides(Shape.of(3, 1), Shape.of(4, 3, 2)));
  }
}
