// SPDX-License-Identifier: Apache-2.0
/**
 * Health checks of Apache Felix: whether models answer, devices serve and the storage has room, for
 * whoever runs the product's bundles beside its own. Nothing else needs this bundle.
 */
package io.thalamus.health;
