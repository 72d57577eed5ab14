// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Model;
import io.thalamus.tck.caching.CachingTests;
import io.thalamus.tck.certify.CachingDevice.Fault;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** The kit's checks of compilation caching find drivers that break one rule each. */
@Order(2)
class CachingMutantsTest {
  private static final String SAVED = "CacheSavingAndRetrieval";
  private static final String SAVED_AT_AN_OFFSET = "CacheSavingAndRetrievalNonZeroOffset";
  private static final String SAVED_TO_WRONG_COUNT = "SaveToCacheInvalidNumCache";
  private static final String RESTORED_FROM_WRONG_COUNT = "PrepareModelFromCacheInvalidNumCache";
  private static final String SAVED_TO_CLOSED = "SaveToCacheInvalidNumFd";
  private static final String RESTORED_FROM_CLOSED = "PrepareModelFromCacheInvalidNumFd";
  private static final String SAVED_TO_READ_ONLY = "SaveToCacheInvalidAccessMode";
  private static final String RESTORED_FROM_WRITE_ONLY = "PrepareModelFromCacheInvalidAccessMode";
  private static final String HANDLES = "HandlesAreClosed";
  private static final String OTHER_PRIORITY = "OtherPriority";
  private static final String SAVED_UNDER_ATTACK = "SaveToCache_TOCTOU";
  private static final String RESTORED_UNDER_ATTACK = "PrepareFromCache_TOCTOU";
  private static final String REPLACED = "ReplaceSecuritySensitiveCache";
  private static final String CORRUPTED_MODEL = "CorruptedModelCache";
  private static final String LONGER_MODEL = "WrongLengthModelCache";
  private static final String CORRUPTED_DATA = "CorruptedDataCache";
  private static final String LONGER_DATA = "WrongLengthDataCache";
  private static final String TOKEN = "WrongToken";
  private static final String CHAIN = "chain";
  private static final String EXAMPLES = "from cache";

  /** The checks, without their types, that find each driver. */
  private static final Map<Fault, Set<String>> TABLE = new EnumMap<>(Fault.class);

  static {
    Set<String> unusable = Set.of(SAVED, SAVED_AT_AN_OFFSET, HANDLES, OTHER_PRIORITY, EXAMPLES);
    Set<String> wrongFiles =
        Set.of(
            SAVED_TO_WRONG_COUNT,
            SAVED_TO_CLOSED,
            SAVED_TO_READ_ONLY,
            RESTORED_FROM_WRONG_COUNT,
            RESTORED_FROM_CLOSED,
            RESTORED_FROM_WRITE_ONLY);
    Set<String> damagedCode = Set.of(CORRUPTED_MODEL, LONGER_MODEL, REPLACED);
    Set<String> attacks = Set.of(SAVED_UNDER_ATTACK, RESTORED_UNDER_ATTACK);
    Set<String> damagedData = Set.of(CORRUPTED_DATA, LONGER_DATA);
    TABLE.put(Fault.NONE, Set.of());
    TABLE.put(Fault.NEVER_CHECKS_HASHES, union(damagedCode, attacks, Set.of(TOKEN)));
    TABLE.put(Fault.IGNORES_TOKEN, Set.of(TOKEN));
    TABLE.put(Fault.IGNORES_FILES, union(damagedCode, wrongFiles));
    TABLE.put(Fault.WRITES_NOTHING, unusable);
    TABLE.put(Fault.TRUNCATES, unusable);
    TABLE.put(Fault.USES_THE_POSITION, Set.of(SAVED_AT_AN_OFFSET, EXAMPLES));
    TABLE.put(
        Fault.FAILS_PREPARE, Set.of(SAVED_TO_WRONG_COUNT, SAVED_TO_CLOSED, SAVED_TO_READ_ONLY));
    TABLE.put(Fault.THROWS_FOR_WRONG_FILES, wrongFiles);
    TABLE.put(
        Fault.REFUSES_WITH_ANOTHER_STATUS,
        union(wrongFiles, damagedCode, damagedData, attacks, Set.of(TOKEN)));
    TABLE.put(Fault.HASHES_THE_FILES, Set.of(SAVED_UNDER_ATTACK));
    TABLE.put(Fault.READS_TWICE, Set.of(RESTORED_UNDER_ATTACK));
    TABLE.put(Fault.TRUSTS_DATA, damagedData);
    TABLE.put(
        Fault.RESTORES_A_WRONG_MODEL, Set.of(SAVED, SAVED_AT_AN_OFFSET, OTHER_PRIORITY, EXAMPLES));
    TABLE.put(Fault.KEEPS_HANDLES, Set.of(HANDLES));
    TABLE.put(Fault.BINDS_THE_PRIORITY, Set.of(OTHER_PRIORITY));
    TABLE.put(Fault.ADDS_WRONG, Set.of(CHAIN, EXAMPLES));
  }

  private static final List<Example> SINGLES =
      GraphGenerator.over(new CachingDevice(Fault.NONE)).singles(1, 1);

  @SafeVarargs
  private static Set<String> union(Set<String>... sets) {
    Set<String> all = new TreeSet<>();
    for (Set<String> set : sets) {
      all.addAll(set);
    }
    return all;
  }

  /** Those who only an attack finds are attacked as often as AOSP does. */
  private static int attacks(Fault fault) {
    return switch (fault) {
      case NEVER_CHECKS_HASHES, REFUSES_WITH_ANOTHER_STATUS, HASHES_THE_FILES, READS_TWICE -> 100;
      default -> 2;
    };
  }

  private static List<Finding> findings(Device device, int attacks) throws Exception {
    List<Finding> findings = new ArrayList<>();
    try (CachingTests tests = new CachingTests(device, 1, attacks)) {
      CachingChecks.run(
          tests,
          new Subject(Certification.of(device), SINGLES),
          new Findings("caching", device, findings::add));
    }
    return findings;
  }

  private static Set<String> failed(List<Finding> findings) {
    Set<String> failed = new TreeSet<>();
    for (Finding finding : findings) {
      if (finding.outcome() instanceof Outcome.Failed) {
        failed.add(finding.name());
      }
    }
    return failed;
  }

  @Test
  void everyDriverIsFoundByItsChecksAndEveryCheckFindsADriver() throws Exception {
    List<String> differences = new ArrayList<>();
    Set<String> checks = new TreeSet<>();
    Set<String> useful = new TreeSet<>();
    for (Fault fault : Fault.values()) {
      List<Finding> findings = findings(new CachingDevice(fault), attacks(fault));
      findings.forEach(finding -> checks.add(finding.name()));
      Set<String> failed = failed(findings);
      useful.addAll(failed);
      Set<String> names = new TreeSet<>();
      failed.forEach(name -> names.add(name.replaceAll(" TENSOR_.*|(?<=from cache) .*", "")));
      if (fault == Fault.RESTORES_A_WRONG_MODEL) {
        // An attack that comes in time leaves a cache that is refused, and nothing is wrong.
        names.removeAll(Set.of(SAVED_UNDER_ATTACK, RESTORED_UNDER_ATTACK));
      }
      if (!names.equals(TABLE.get(fault))) {
        differences.add(fault + " is found by " + names + ", not by " + TABLE.get(fault));
      }
    }
    assertEquals(List.of(), differences);
    assertEquals(checks, useful, "each check fails, of each type");
  }

  /** A driver that restores though it says that it does not cache. */
  @Test
  void anUnclaimedCacheIsRefused() throws Exception {
    Device device =
        new DelegatingDevice(new CachingDevice(Fault.NONE)) {
          private Model last;

          @Override
          public DeviceInfo info() {
            DeviceInfo info = super.info();
            return DeviceInfo.builder(info.name(), info.version())
                .capabilities(info.capabilities())
                .cacheNeeds(CacheNeeds.NONE)
                .build();
          }

          @Override
          public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
            last = model;
            return super.prepare(model, config);
          }

          @Override
          public PreparedModel prepareFromCache(PrepareConfig config) throws DeviceException {
            return super.prepare(last, PrepareConfig.DEFAULT);
          }
        };
    try (var decoded = SINGLES.getFirst().decode();
        PreparedModel _ = device.prepare(decoded.model(), PrepareConfig.DEFAULT)) {
      assertEquals(Set.of("unclaimed"), failed(findings(device, 1)));
    }
  }
}
