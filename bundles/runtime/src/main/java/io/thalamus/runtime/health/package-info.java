// SPDX-License-Identifier: Apache-2.0
/** The judgement of devices by their failures: quarantine, and the probes that end it. */
package io.thalamus.runtime.health;
