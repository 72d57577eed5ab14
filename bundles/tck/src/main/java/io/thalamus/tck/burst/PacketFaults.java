// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.burst;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * The malformed and invalid packets that AOSP's vendor tests make of a valid one: each element
 * removed, each bad element inserted at each place, or put in the place of each other.
 */
final class PacketFaults {
  /** The largest number without a sign. */
  private static final int MOST = -1;

  /** A slot that no client of the kit gives out. */
  private static final int UNKNOWN_SLOT = 10_000;

  private static final List<Datum> BAD =
      List.of(
          Datum.of(Datum.PACKET, 0, 0, 0, 0),
          Datum.of(Datum.PACKET, 2, 0, 0, 0),
          Datum.of(Datum.PACKET, 10_000, 10_000, 10_000, 10_000),
          Datum.of(Datum.PACKET, MOST, MOST, MOST, MOST),
          Datum.of(Datum.INPUT, 0, 0, 0, 0, 0),
          Datum.of(Datum.INPUT, 1, 0, 0, 0, 0),
          Datum.of(Datum.INPUT, 1, 1, 1, 1, 0),
          Datum.of(Datum.INPUT, 0, MOST, MOST, MOST, MOST),
          Datum.of(Datum.INPUT_DIMENSION, 0),
          Datum.of(Datum.INPUT_DIMENSION, MOST),
          Datum.of(Datum.OUTPUT, 0, 0, 0, 0, 0),
          Datum.of(Datum.OUTPUT, 1, 0, 0, 0, 0),
          Datum.of(Datum.OUTPUT, 0, MOST, MOST, MOST, MOST),
          Datum.of(Datum.OUTPUT_DIMENSION, 0),
          Datum.of(Datum.OUTPUT_DIMENSION, MOST),
          Datum.of(Datum.POOL, UNKNOWN_SLOT),
          Datum.of(Datum.POOL, MOST),
          Datum.of(Datum.TIMING, 0),
          Datum.of(Datum.TIMING, 1),
          // The elements of version 2 are unknown to version 1.
          Datum.of(Datum.DEADLINE, 0, 0, 0),
          Datum.of(Datum.LOOP_TIMEOUT, 0, 0, 0),
          Datum.of(Datum.TOKEN, 1),
          Datum.of(0xFF, MOST, MOST, MOST, MOST, MOST));

  private PacketFaults() {}

  /**
   * A packet with one fault.
   *
   * @param text what was done to it
   * @param packet as it is sent
   */
  record Fault(String text, List<Datum> packet) {}

  /** Returns all packets with one fault; some are well-formed, a few even valid. */
  static List<Fault> of(List<Datum> valid) {
    List<Fault> faults = new ArrayList<>();
    for (int at = 0; at < valid.size(); at++) {
      List<Datum> packet = new ArrayList<>(valid);
      packet.remove(at);
      faults.add(new Fault("without element " + at, packet));
    }
    for (Datum bad : BAD) {
      for (int at = 0; at <= valid.size(); at++) {
        List<Datum> packet = new ArrayList<>(valid);
        packet.add(at, bad);
        faults.add(new Fault("with " + bad + " before element " + at, packet));
      }
      for (int at = 0; at < valid.size(); at++) {
        if (!bad.equals(valid.get(at))) {
          List<Datum> packet = new ArrayList<>(valid);
          packet.set(at, bad);
          faults.add(new Fault("with " + bad + " in the place of element " + at, packet));
        }
      }
    }
    return faults;
  }

  /** Returns packets that say another size than they have, and are right in all else. */
  private static List<Fault> sizes(List<Datum> valid) {
    List<Fault> faults = new ArrayList<>();
    for (int size : new int[] {0, 1, valid.size() - 1, valid.size() + 1, MOST}) {
      Datum head = valid.getFirst();
      List<Datum> packet = new ArrayList<>(valid);
      packet.set(0, Datum.of(Datum.PACKET, size, head.word(1), head.word(2), head.word(3)));
      faults.add(new Fault("that says to have " + size + " elements", packet));
    }
    return faults;
  }

  /** Returns all with a wrong size, and some of the other packets, chosen by a seed. */
  static List<Fault> sample(List<Datum> valid, int count, long seed) {
    List<Fault> others = of(valid);
    Collections.shuffle(others, new Random(seed));
    List<Fault> faults = sizes(valid);
    faults.addAll(others.subList(0, Math.min(count, others.size())));
    return faults;
  }
}
