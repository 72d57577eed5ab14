// SPDX-License-Identifier: Apache-2.0
/** A device for tests, which {@code SpareBundle} puts into bundles of its own. */
package io.thalamus.integration.device;
