/* Balanced trees of std::map, std::set and their like: what <bits/stl_tree.h> declares, and the C++ library defines. */
#ifndef FARSIDE_RUNTIME_CPLUSPLUS_TREES_H
#define FARSIDE_RUNTIME_CPLUSPLUS_TREES_H

#include <map>

/*
 * Red-black trees. A container has a header, which is red; its parent is the root, or null, its left the first node and its
 * right the last one. The root is black, and its parent is the header, so that these two, and no others, are each other's
 * parent. What is below a node on one side and on the other has as many black nodes, and no red node has a red parent: the
 * library may go on with a tree that was changed here, and the other way round.
 */
namespace farside {

using TreeNode = std::_Rb_tree_node_base;

template <bool isLeft> inline TreeNode *&below(TreeNode *node) { return isLeft ? node->_M_left : node->_M_right; }

inline bool isRed(const TreeNode *node) { return node && node->_M_color == std::_S_red; }

/* The last one on a side. */
template <bool isLeft> inline TreeNode *outermost(TreeNode *node) {
    while (TreeNode *next = below<isLeft>(node)) node = next;
    return node;
}

/* Has what is above a node lead to another one, or to none. */
inline void replaceBelow(TreeNode *above, const TreeNode *node, TreeNode *by, TreeNode &header) {
    if (above == &header)
        header._M_parent = by;
    else
        (above->_M_left == node ? above->_M_left : above->_M_right) = by;
}

/* Moves a node down to a side; what is below it on the other one takes its place. */
template <bool toLeft> inline void rotate(TreeNode *node, TreeNode &header) {
    TreeNode *up = below<!toLeft>(node), *across = below<toLeft>(up), *above = node->_M_parent;
    below<!toLeft>(node) = across;
    if (across) across->_M_parent = node;
    replaceBelow(above, node, up, header);
    up->_M_parent = above;
    below<toLeft>(up) = node;
    node->_M_parent = up;
}

/* A red node whose parent is red, too, and on a side of what is above: the next node of which that may be so. */
template <bool isLeft> inline TreeNode *partRed(TreeNode *node, TreeNode &header) {
    TreeNode *parent = node->_M_parent, *above = parent->_M_parent, *other = below<!isLeft>(above);
    if (isRed(other)) {
        parent->_M_color = other->_M_color = std::_S_black;
        above->_M_color = std::_S_red;
        return above;
    }
    if (node == below<!isLeft>(parent)) {
        rotate<isLeft>(parent, header);
        node = parent;
        parent = node->_M_parent;
    }
    parent->_M_color = std::_S_black;
    above->_M_color = std::_S_red;
    rotate<!isLeft>(above, header);
    return node;
}

/* Below the parent there is a black node too few on a side. Whether that is now so one level higher. */
template <bool isLeft> inline bool fillUp(TreeNode *parent, TreeNode &header) {
    TreeNode *other = below<!isLeft>(parent);
    if (isRed(other)) {
        other->_M_color = std::_S_black;
        parent->_M_color = std::_S_red;
        rotate<isLeft>(parent, header);
        other = below<!isLeft>(parent);
    }
    TreeNode *inner = below<isLeft>(other), *outer = below<!isLeft>(other);
    if (!isRed(inner) && !isRed(outer)) {
        other->_M_color = std::_S_red;
        return true;
    }
    if (!isRed(outer)) {
        inner->_M_color = std::_S_black;
        other->_M_color = std::_S_red;
        rotate<!isLeft>(other, header);
        outer = other;
        other = inner;
    }
    other->_M_color = parent->_M_color;
    parent->_M_color = outer->_M_color = std::_S_black;
    rotate<isLeft>(parent, header);
    return false;
}

/* A black node was taken out above this one, which may be null. */
inline void restore(TreeNode *node, TreeNode *parent, TreeNode &header) {
    while (parent != &header && !isRed(node)) {
        bool isHigher = node == parent->_M_left ? fillUp<true>(parent, header) : fillUp<false>(parent, header);
        if (!isHigher) return;
        node = parent;
        parent = node->_M_parent;
    }
    if (node) node->_M_color = std::_S_black;
}

/* Takes a node out that has nothing on one side at least. */
inline void takeOuter(TreeNode *node, TreeNode &header) {
    TreeNode *parent = node->_M_parent, *left = node->_M_left, *right = node->_M_right, *only = left ? left : right;
    replaceBelow(parent, node, only, header);
    if (only) only->_M_parent = parent;
    if (header._M_left == node) header._M_left = right ? outermost<true>(right) : parent;
    if (header._M_right == node) header._M_right = left ? outermost<false>(left) : parent;
    if (node->_M_color == std::_S_black) restore(only, parent, header);
}

/* Takes a node out whose place the next one takes. */
inline void takeInner(TreeNode *node, TreeNode &header) {
    TreeNode *next = outermost<true>(node->_M_right), *only = next->_M_right, *parent = next->_M_parent;
    if (parent == node) {
        parent = next;
    } else {
        parent->_M_left = only;
        if (only) only->_M_parent = parent;
        next->_M_right = node->_M_right;
        next->_M_right->_M_parent = next;
    }
    next->_M_left = node->_M_left;
    next->_M_left->_M_parent = next;
    TreeNode *above = node->_M_parent;
    replaceBelow(above, node, next, header);
    next->_M_parent = above;
    bool wasBlack = next->_M_color == std::_S_black;
    next->_M_color = node->_M_color;
    if (wasBlack) restore(only, parent, header);
}

inline TreeNode *nextOf(TreeNode *node) {
    if (TreeNode *right = node->_M_right) return outermost<true>(right);
    TreeNode *above = node->_M_parent;
    /* Behind the last node is the header. */
    while (above->_M_parent != node && above->_M_right == node) {
        node = above;
        above = node->_M_parent;
    }
    return above;
}

inline TreeNode *previousOf(TreeNode *node) {
    bool isHeader = node->_M_color == std::_S_red && node->_M_parent->_M_parent == node;
    if (isHeader) return node->_M_right;
    if (TreeNode *left = node->_M_left) return outermost<false>(left);
    TreeNode *above = node->_M_parent;
    while (above->_M_left == node) {
        node = above;
        above = node->_M_parent;
    }
    return above;
}

} // namespace farside

namespace std {

_Rb_tree_node_base *_Rb_tree_increment(_Rb_tree_node_base *node) throw() { return farside::nextOf(node); }

const _Rb_tree_node_base *_Rb_tree_increment(const _Rb_tree_node_base *node) throw() {
    return farside::nextOf(const_cast<_Rb_tree_node_base *>(node));
}

_Rb_tree_node_base *_Rb_tree_decrement(_Rb_tree_node_base *node) throw() { return farside::previousOf(node); }

const _Rb_tree_node_base *_Rb_tree_decrement(const _Rb_tree_node_base *node) throw() {
    return farside::previousOf(const_cast<_Rb_tree_node_base *>(node));
}

void _Rb_tree_insert_and_rebalance(const bool isLeft, _Rb_tree_node_base *node, _Rb_tree_node_base *parent,
                                   _Rb_tree_node_base &header) throw() {
    node->_M_parent = parent;
    node->_M_left = node->_M_right = nullptr;
    node->_M_color = _S_red;
    if (parent == &header) {
        header._M_parent = header._M_left = header._M_right = node;
    } else if (isLeft) {
        parent->_M_left = node;
        if (header._M_left == parent) header._M_left = node;
    } else {
        parent->_M_right = node;
        if (header._M_right == parent) header._M_right = node;
    }
    while (node != header._M_parent && farside::isRed(node->_M_parent)) {
        _Rb_tree_node_base *above = node->_M_parent->_M_parent;
        bool isLeftOfAbove = node->_M_parent == above->_M_left;
        node = isLeftOfAbove ? farside::partRed<true>(node, header) : farside::partRed<false>(node, header);
    }
    header._M_parent->_M_color = _S_black;
}

_Rb_tree_node_base *_Rb_tree_rebalance_for_erase(_Rb_tree_node_base *const node, _Rb_tree_node_base &header) throw() {
    if (node->_M_left && node->_M_right)
        farside::takeInner(node, header);
    else
        farside::takeOuter(node, header);
    return node;
}

} // namespace std

#endif
